import type { Clock } from '../../../core/ports/clock.ts';
import type { Journal } from '../../../core/ports/journal.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import {
  envelopeOf,
  isKeyAlone,
  type JournalledStanza,
  messageKeyOf,
  type OwnJids,
  type UnreadableEntry,
} from '../messages/stanza.ts';
import type { ChatLanes } from './chat-lanes.ts';
import { journalledStanzas } from './journal-pages.ts';
import type { JournalTrim } from './journal-trim.ts';
import type { KeptPlaces } from './kept-places.ts';
import type { OrderedLanes } from './ordered-lanes.ts';
import type { PlaintextCache } from './plaintext-cache.ts';
import type { DecryptedStanza } from './stanza-delivery.ts';
import type { StanzaMemory } from './stanza-memory.ts';
import type { UndecryptedMessages } from './undecrypted-messages.ts';

export interface JournalReplayDeps {
  journal: Journal;
  accountId: string;
  memory: StanzaMemory;
  places: KeptPlaces;
  lanes: OrderedLanes;
  chats: ChatLanes;
  recalled: PlaintextCache;
  trim: JournalTrim;
  unread: UndecryptedMessages;
  deliver(stanza: DecryptedStanza): Promise<void>;
  own(): OwnJids;
  /** The journal holds a message that cannot be read, of an unknown chat. */
  onJournalUnreadable(waMessageId: string): void;
  /** No further page is read while this many messages wait for core. */
  maxBacklog: number;
  clock: Clock;
  log: Logger;
}

/**
 * What an earlier process decrypted and left in the journal: it takes the places that it had, and so does what was still
 * to be decrypted before it, which WhatsApp delivers again.
 */
export class JournalReplay {
  readonly #deps: JournalReplayDeps;
  /** Entries of messages that did not come again, by message key. */
  readonly #left = new Map<string, string[]>();

  constructor(deps: JournalReplayDeps) {
    this.#deps = deps;
  }

  /**
   * Hands on what was journalled and perhaps not received. Orders given from now on are above all that were stored.
   * @throws {StorageUnavailableError} the journal could not be read; call again
   */
  async run(): Promise<void> {
    const { journal, accountId, memory, places, lanes, maxBacklog, clock, log } = this.#deps;
    memory.countFrom(await journal.lastOrder(accountId));
    memory.countFrom(BigInt(clock.now()) * 1_000n);
    let replayed = 0;
    for await (const found of journalledStanzas(journal, accountId, () => lanes.below(maxBacklog))) {
      if ('unreadable' in found) {
        this.#tellUnreadable(found);
        continue;
      }
      this.#replay(found);
      replayed += 1;
    }
    if (replayed > 0) {
      log.info({ messages: replayed, kept: places.size }, 'journalled messages handed on again');
    }
  }

  /** WhatsApp delivers the message again: its entries are needed until its receipt is out. */
  cameAgain(key: string): void {
    this.#left.delete(key);
  }

  /** WhatsApp has delivered all that it will: it has the receipts of what did not come again. */
  allDelivered(): void {
    this.#deps.trim.settled([...this.#left.values()].flat());
    this.#left.clear();
  }

  #replay({ attrs, order, entries, parts, behind }: JournalledStanza): void {
    const { memory, lanes, chats, recalled, trim, unread, deliver, own } = this.#deps;
    const hashes = entries.map((entry) => entry.ciphertextHash);
    const envelope = envelopeOf(attrs, own());
    if (!envelope) {
      for (const entry of entries) this.#tellUnreadable({ unreadable: entry, attrs: undefined });
      return;
    }
    for (const entry of entries) recalled.remember(entry);
    const key = messageKeyOf(envelope);
    const lane = chats.of(attrs);
    for (const earlier of behind) this.#keepPlace({ ...earlier, lane });
    const plaintexts = entries.map((entry) => entry.plaintext);
    if (entries.length < parts && plaintexts.every(isKeyAlone)) {
      // The group's key alone was stored when the process ended; what its author wrote comes again.
      this.#keepPlace({ key, order, lane }, () => {
        trim.received(hashes);
        unread.failed({ key, attrs, order });
      });
      return;
    }
    memory.note(key, order, 'handed');
    this.#left.set(key, hashes);
    const stanza = { key, envelope, attrs, order, offline: true, plaintexts, hashes };
    lanes.push(lane, () => deliver(stanza));
  }

  /**
   * A later message may have been journalled while an earlier one was not: the earlier one keeps its place, and is
   * welcome whichever way it comes.
   */
  #keepPlace(wanted: { key: string; order: bigint; lane: string }, onGivenUp?: () => void): void {
    const { memory, places } = this.#deps;
    if (memory.outcomeOf(wanted.key)) return;
    memory.note(wanted.key, wanted.order, 'failed');
    places.keep(wanted, onGivenUp);
  }

  /**
   * What it said is lost. That it was there is noted in its chat; where the chat is not known, by the account. The entry
   * stays: PostgreSQL cannot remove a value whose blocks it cannot read, and who mends it may read it yet.
   */
  #tellUnreadable({ unreadable, attrs }: UnreadableEntry): void {
    const { own, unread, onJournalUnreadable, log } = this.#deps;
    const { waMessageId, stanzaOrder } = unreadable;
    log.error({ waMessageId }, 'a journalled message cannot be read');
    if (!attrs || !envelopeOf(attrs, own())) onJournalUnreadable(waMessageId);
    else unread.lost(attrs, stanzaOrder);
  }
}
