import { type BinaryNode, proto, type WAMessage } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { parseJid } from '../../core/chat-id.ts';
import { StorageUnavailableError, Wa2aiError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { InboundMessage } from '../../core/ports/inbox.ts';
import type { Journal, JournalEntry } from '../../core/ports/journal.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { backoffMs } from '../../core/retry.ts';
import { fromBaileys } from './from-baileys.ts';
import { JournalTrim } from './journal-trim.ts';
import { OrderedLanes, type Slot } from './ordered-lanes.ts';
import type { DecryptHooks } from './signal-repository.ts';
import {
  addressesOf,
  ciphertextHash,
  ciphertextsOf,
  type Earlier,
  encodeStanza,
  envelopeOf,
  fillEnvelope,
  type JournalledStanza,
  messageKeyOf,
  type OwnJids,
  senderOf,
  stanzasOf,
} from './stanza.ts';
import { StanzaGate, type Ticket } from './stanza-gate.ts';
import { UndecryptableWatch } from './undecryptable.ts';

/** Decrypted messages of a chat wait this long for an earlier stanza of it. */
const HOLD_MS = 5_000;
/**
 * Messages of a chat wait this long for an earlier one that was not decrypted when the connection or the process ended:
 * WhatsApp delivers it again after the next login.
 */
const REDELIVERED_WITHIN_MS = 15_000;
/** Messages handed to core at the same time; each takes a database connection for a moment. */
const CONCURRENCY = 6;
/** No further delivery receipt goes out while this many messages wait for core. */
const MAX_BACKLOG = 200;
/** Stanzas whose order and outcome are remembered, for those that come twice. */
const REMEMBERED = 10_000;
/** Plaintexts kept in memory for stanzas that come twice at short notice; older ones are asked of the journal. */
const RECALLED = 1_000;
const RECALLED_MAX_BYTES = 8 * 1024 * 1024;
const JOURNAL_PAGE = 500;
/** Attempts at a message that core refuses for no reason of storage. */
const MAX_ATTEMPTS = 5;
/** libsignal, of a message whose key was used: it was read before. */
const KEY_USED_BEFORE = 'Key used already or never filled';

export interface IntakeOptions {
  accountId: string;
  receive(message: InboundMessage): Promise<void>;
  journal: Journal;
  /** The number of a LID, digits, from what Baileys stored; undefined when unknown. */
  phoneOfLid(lid: string): Promise<string | undefined>;
  own(): OwnJids;
  /** A message is decrypted and handed on; Baileys will tell it too. */
  onDecrypted(messageKey: string): void;
  /** The time by which messages are dated, epoch milliseconds. */
  whatsAppNow(): number;
  clock: Clock;
  log: Logger;
  maxMessageAgeMs: number;
  random(): number;
}

interface Stanza {
  key: string;
  envelope: WAMessage;
  attrs: BinaryNode['attrs'];
  order: bigint;
  offline: boolean;
  slot: Slot;
  ticket: Ticket;
  /** Ciphertexts whose outcome is not known yet. */
  openParts: number;
  plaintexts: Uint8Array[];
  hashes: string[];
  error?: unknown;
  arrivedAtMs: number;
}

type Memory = { order: bigint; outcome: 'open' | 'handed' | 'failed' | 'received' };

/**
 * Brings messages from the socket to core: each in the order in which its stanza reached the socket, within its chat;
 * straight from decryption, so that Baileys' event buffer cannot hold it up; and again until core has it.
 */
export class Intake implements DecryptHooks {
  readonly #options: IntakeOptions;
  readonly #log: Logger;
  readonly #lanes = new OrderedLanes({ holdMs: HOLD_MS, concurrency: CONCURRENCY });
  readonly #gate = new StanzaGate(HOLD_MS);
  readonly #trim: JournalTrim;
  readonly #undecryptable: UndecryptableWatch;
  readonly #memory = new LRUCache<string, Memory>({ max: REMEMBERED });
  readonly #recalled = new LRUCache<string, JournalEntry>({
    max: RECALLED,
    maxSize: RECALLED_MAX_BYTES,
    sizeCalculation: (entry) => entry.plaintext.byteLength + entry.stanza.byteLength + 200,
  });
  /** Number → LID of people whose stanzas named both, so that both are one lane. */
  readonly #aliases = new LRUCache<string, string>({ max: REMEMBERED });
  readonly #stanzaOf = new WeakMap<Uint8Array, Stanza>();
  readonly #hashes = new WeakMap<Uint8Array, string>();
  /** Stanzas of the present connection that are not decrypted yet. */
  readonly #open = new Set<Stanza>();
  /** Places kept for messages that will be delivered again, by message key. */
  readonly #awaited = new Map<string, Slot>();
  readonly #stopping = new AbortController();
  #lastOrder = 0n;
  #undecryptableCount = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#trim = new JournalTrim(options.journal, options.accountId, options.clock, options.log);
    this.#undecryptable = new UndecryptableWatch((message) => this.#giveUp(message.attrs, message.order));
  }

  /**
   * Hands on what was journalled and perhaps not received. Call before the first connection.
   * @throws {StorageUnavailableError} the journal could not be read; call again
   */
  async replay(): Promise<void> {
    const { journal, accountId, clock } = this.#options;
    const stored = await journal.lastOrder(accountId);
    const byTime = BigInt(clock.now()) * 1_000n;
    if (stored > this.#lastOrder) this.#lastOrder = stored;
    if (byTime > this.#lastOrder) this.#lastOrder = byTime;
    let afterOrder = 0n;
    let replayed = 0;
    for (;;) {
      const entries = await journal.pending(accountId, { afterOrder, limit: JOURNAL_PAGE });
      for (const stanza of stanzasOf(entries)) {
        this.#replayOne(stanza);
        replayed += 1;
      }
      const last = entries.at(-1);
      if (!last || entries.length < JOURNAL_PAGE) break;
      afterOrder = last.stanzaOrder;
      await this.#lanes.below(MAX_BACKLOG);
    }
    if (replayed > 0) this.#log.info({ messages: replayed }, 'journalled messages handed on again');
  }

  /** A `message` stanza reached the socket. Call before Baileys sees it. */
  arrived(node: BinaryNode): void {
    const ciphertexts = ciphertextsOf(node);
    const envelope = envelopeOf(node.attrs, this.#options.own());
    if (!envelope) return;
    const key = messageKeyOf(envelope);
    const order = this.#memory.get(key)?.order ?? this.#nextOrder();
    if (ciphertexts.length === 0) {
      this.#memory.set(key, { order, outcome: 'failed' });
      return;
    }
    const before = this.#memory.get(key);
    if (before?.outcome !== 'received') this.#memory.set(key, { order, outcome: 'open' });
    const lane = this.#laneOf(node.attrs);
    const offline = node.attrs.offline !== undefined;
    const stanza: Stanza = {
      key,
      envelope,
      attrs: node.attrs,
      order,
      offline,
      slot: this.#placeOf(key, lane),
      ticket: this.#gate.enter(lane, offline),
      openParts: ciphertexts.length,
      plaintexts: [],
      hashes: [],
      arrivedAtMs: this.#options.clock.monotonicMs(),
    };
    this.#open.add(stanza);
    for (const ciphertext of ciphertexts) this.#stanzaOf.set(ciphertext, stanza);
  }

  turn(): Promise<void> {
    return this.#gate.turn();
  }

  begun(ciphertext: Uint8Array): void {
    this.#stanzaOf.get(ciphertext)?.ticket.pass();
  }

  entryFor(ciphertext: Uint8Array): Omit<JournalEntry, 'plaintext'> | undefined {
    const stanza = this.#stanzaOf.get(ciphertext);
    if (!stanza) return undefined;
    const hash = this.#hashes.get(ciphertext) ?? ciphertextHash(senderOf(stanza.attrs), ciphertext);
    this.#hashes.set(ciphertext, hash);
    return {
      ciphertextHash: hash,
      stanzaOrder: stanza.order,
      waMessageId: stanza.attrs.id ?? '',
      stanza: encodeStanza(stanza.attrs, this.#openBefore(stanza)),
    };
  }

  async decrypted(ciphertext: Uint8Array, entry: JournalEntry): Promise<void> {
    this.#remember(entry);
    const stanza = this.#stanzaOf.get(ciphertext);
    if (!stanza) return;
    stanza.plaintexts.push(entry.plaintext);
    stanza.hashes.push(entry.ciphertextHash);
    this.#partEnded(stanza);
    await this.#lanes.below(MAX_BACKLOG);
  }

  /** Copies of their own size: a small Buffer is a window on 8 KB, all of which it would keep. */
  #remember(entry: JournalEntry): void {
    const { ciphertextHash: hash, plaintext, stanza } = entry;
    this.#recalled.set(hash, {
      ...entry,
      plaintext: new Uint8Array(plaintext),
      stanza: new Uint8Array(stanza),
    });
  }

  taken(ciphertext: Uint8Array): void {
    const hash = this.#hashes.get(ciphertext);
    if (hash) this.#trim.receipted(hash);
  }

  async recall(hash: string): Promise<JournalEntry | undefined> {
    return this.#recalled.get(hash) ?? (await this.#options.journal.find(this.#options.accountId, hash));
  }

  failed(ciphertext: Uint8Array, error: unknown): void {
    const stanza = this.#stanzaOf.get(ciphertext);
    if (!stanza) return;
    stanza.error = error;
    this.#partEnded(stanza);
  }

  /**
   * Baileys told a message. What was decrypted here is known already; what came another way (a placeholder's content
   * from the phone, a stanza without ciphertext) is handed on.
   */
  upserted(message: WAMessage, type: 'notify' | 'append'): void {
    const key = messageKeyOf(message);
    const before = this.#memory.get(key);
    if (before && before.outcome !== 'failed') return;
    const isStub = message.messageStubType === proto.WebMessageInfo.StubType.CIPHERTEXT && !message.message;
    if (isStub) {
      if (message.key.remoteJid && message.key.id) this.#missing(message, before?.order);
      return;
    }
    if (!message.message) return;
    const order = before?.order ?? this.#nextOrder();
    this.#undecryptable.resolved(key);
    this.#memory.set(key, { order, outcome: 'handed' });
    this.#lanes.push(this.#laneOf({ from: message.key.remoteJid ?? '' }), async () => {
      await this.#deliver({ key, message, order, type, hashes: [] });
    });
  }

  /** The connection is gone: WhatsApp will deliver again what was not decrypted. */
  connectionClosed(): void {
    for (const stanza of this.#open) this.#await(stanza.key, stanza.slot);
    this.#open.clear();
    this.#gate.passAll();
  }

  /** How long the oldest stanza waits for its decryption, in milliseconds. */
  oldestOpenMs(): number {
    const [oldest] = this.#open;
    return oldest ? this.#options.clock.monotonicMs() - oldest.arrivedAtMs : 0;
  }

  /** Resolves when all that was decrypted is received; what core cannot take now is left to the journal. */
  async stop(): Promise<void> {
    this.connectionClosed();
    this.#undecryptable.finish();
    this.#stopping.abort();
    await this.#lanes.drain();
    await this.#trim.finish();
  }

  #partEnded(stanza: Stanza): void {
    stanza.openParts -= 1;
    if (stanza.openParts > 0) return;
    this.#open.delete(stanza);
    if (stanza.error instanceof StorageUnavailableError) {
      this.#lanes.release(stanza.slot);
      return;
    }
    if (stanza.plaintexts.length === 0) {
      this.#undecryptedStanza(stanza);
      return;
    }
    if (this.#memory.get(stanza.key)?.outcome !== 'received') {
      this.#memory.set(stanza.key, { order: stanza.order, outcome: 'handed' });
    }
    if (!stanza.error) this.#options.onDecrypted(stanza.key);
    this.#lanes.fill(stanza.slot, () => this.#deliverStanza(stanza));
  }

  #undecryptedStanza(stanza: Stanza): void {
    this.#lanes.release(stanza.slot);
    const outcome = this.#memory.get(stanza.key)?.outcome;
    const isKnown = outcome === 'received' || outcome === 'handed';
    if (isKnown || messageOf(stanza.error) === KEY_USED_BEFORE) return;
    this.#noteFailure(stanza.key, stanza.attrs, stanza.order);
  }

  #noteFailure(key: string, attrs: BinaryNode['attrs'], order: bigint): void {
    this.#memory.set(key, { order, outcome: 'failed' });
    this.#undecryptableCount += 1;
    // A storm of them is told with the logarithm of its size.
    if (Number.isInteger(Math.log2(this.#undecryptableCount))) {
      this.#log.warn(
        { messages: this.#undecryptableCount },
        'messages that cannot be decrypted; their senders are asked to send them again',
      );
    }
    this.#undecryptable.failed({ key, attrs, order });
  }

  /** A stanza that came without ciphertext: Baileys asks the phone for its content. */
  #missing(message: WAMessage, order: bigint | undefined): void {
    const { remoteJid, participant, id, fromMe } = message.key;
    if (fromMe || !remoteJid || !id) return;
    const attrs: BinaryNode['attrs'] = { id, from: remoteJid, t: String(message.messageTimestamp ?? '') };
    if (participant) attrs.participant = participant;
    this.#noteFailure(messageKeyOf(message), attrs, order ?? this.#nextOrder());
  }

  /** Recorded under an id of its own: should the text come later after all, it must count as new. */
  #giveUp(attrs: BinaryNode['attrs'], order: bigint): void {
    const envelope = envelopeOf(attrs, this.#options.own());
    if (!envelope) return;
    const message = fillEnvelope(envelope, [], this.#options.own());
    message.messageStubType = proto.WebMessageInfo.StubType.CIPHERTEXT;
    message.key.id = `${attrs.id}:undecryptable`;
    const key = messageKeyOf(message);
    this.#lanes.push(this.#laneOf(attrs), async () => {
      await this.#deliver({ key, message, order, type: 'notify', hashes: [] });
    });
  }

  /** The place kept for a message that is delivered again, or a new one. */
  #placeOf(key: string, lane: string): Slot {
    const kept = this.#awaited.get(key);
    this.#awaited.delete(key);
    return kept?.isOpen ? kept : this.#lanes.reserve(lane);
  }

  #await(key: string, slot: Slot): void {
    if (!slot.isOpen) return;
    slot.holdMs = REDELIVERED_WITHIN_MS;
    this.#awaited.set(key, slot);
    setTimeout(() => {
      if (this.#awaited.get(key) !== slot) return;
      this.#awaited.delete(key);
      this.#lanes.release(slot);
    }, REDELIVERED_WITHIN_MS).unref();
  }

  #openBefore(stanza: Stanza): Earlier[] {
    const before: Earlier[] = [];
    for (const open of this.#open) {
      if (open.slot.lane !== stanza.slot.lane || open.order >= stanza.order) continue;
      before.push({ key: open.key, order: open.order });
    }
    return before;
  }

  /** A later message may have been journalled while an earlier one was not: the earlier one keeps its place. */
  #keepPlaces(lane: string, behind: readonly Earlier[]): void {
    for (const { key, order } of behind) {
      if (this.#memory.has(key)) continue;
      this.#memory.set(key, { order, outcome: 'open' });
      this.#await(key, this.#lanes.reserve(lane, REDELIVERED_WITHIN_MS));
    }
  }

  #replayOne(stanza: JournalledStanza): void {
    const hashes = stanza.entries.map((entry) => entry.ciphertextHash);
    const envelope = envelopeOf(stanza.attrs, this.#options.own());
    if (!envelope) {
      this.#trim.received(hashes);
      return;
    }
    for (const entry of stanza.entries) this.#remember(entry);
    const lane = this.#laneOf(stanza.attrs);
    this.#keepPlaces(lane, stanza.behind);
    const key = messageKeyOf(envelope);
    this.#memory.set(key, { order: stanza.order, outcome: 'handed' });
    const plaintexts = stanza.entries.map((entry) => entry.plaintext);
    const replayed = {
      key,
      envelope,
      plaintexts,
      hashes,
      order: stanza.order,
      offline: true,
      attrs: stanza.attrs,
    };
    this.#lanes.push(lane, () => this.#deliverStanza(replayed));
  }

  async #deliverStanza(
    stanza: Pick<
      Stanza,
      'key' | 'envelope' | 'plaintexts' | 'hashes' | 'order' | 'offline' | 'attrs' | 'error'
    >,
  ): Promise<void> {
    let message: WAMessage;
    try {
      message = fillEnvelope(stanza.envelope, stanza.plaintexts, this.#options.own());
    } catch (error) {
      this.#log.warn({ err: error }, 'a decrypted message is malformed');
      this.#trim.received(stanza.hashes);
      this.#noteFailure(stanza.key, stanza.attrs, stanza.order);
      return;
    }
    const type = stanza.offline ? 'append' : 'notify';
    const told = await this.#deliver({ ...stanza, message, type });
    // A group's key came through and its message did not: the rest of the stanza is asked for again.
    if (told === 'skipped' && stanza.error) this.#noteFailure(stanza.key, stanza.attrs, stanza.order);
    else this.#undecryptable.resolved(stanza.key);
  }

  async #deliver(item: {
    key: string;
    message: WAMessage;
    order: bigint;
    type: 'notify' | 'append';
    hashes: string[];
  }): Promise<'received' | 'skipped' | 'left'> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const inbound = await this.#translate(item.message, item.order, item.type);
        if (inbound) await this.#options.receive(inbound);
        this.#memory.set(item.key, { order: item.order, outcome: 'received' });
        this.#trim.received(item.hashes);
        return inbound ? 'received' : 'skipped';
      } catch (error) {
        if (!(await this.#mayTryAgain(error, attempt))) return 'left';
      }
    }
  }

  async #mayTryAgain(error: unknown, attempt: number): Promise<boolean> {
    const isRefused = error instanceof Wa2aiError && error.disposition === 'dead';
    const isUnknown = !(error instanceof Wa2aiError);
    if (isRefused || (isUnknown && attempt >= MAX_ATTEMPTS)) {
      this.#log.error({ err: error }, 'a message could not be received; it stays in the journal');
      return false;
    }
    this.#log.warn({ err: error, attempt }, 'a message waits for the inbox');
    try {
      const waitMs = backoffMs({ attempt, random: this.#options.random, baseMs: 200, maxMs: 5_000 });
      await this.#options.clock.sleep(waitMs, this.#stopping.signal);
      return true;
    } catch {
      return false;
    }
  }

  async #translate(
    message: WAMessage,
    stanzaOrder: bigint,
    upsertType: 'notify' | 'append',
  ): Promise<InboundMessage | undefined> {
    const { accountId, maxMessageAgeMs } = this.#options;
    const own = this.#options.own();
    const ownAddress = parseJid(own.id);
    const ownLid = parseJid(own.lid);
    const phones = await this.#phonesOf(message);
    const result = fromBaileys(message, {
      accountId,
      upsertType,
      stanzaOrder,
      nowMs: this.#options.whatsAppNow(),
      maxMessageAgeMs,
      pnForLid: (lid) => phones.get(lid),
      ...(ownAddress?.kind === 'phone' && { ownPhone: ownAddress.phone }),
      ...(ownLid?.kind === 'lid' && { ownLid: ownLid.lid }),
    });
    return result.kind === 'message' ? result.message : undefined;
  }

  /** Numbers of the LIDs that the message names without one. */
  async #phonesOf(message: WAMessage): Promise<Map<string, string>> {
    const { remoteJid, remoteJidAlt, participant, participantAlt } = message.key;
    const phones = new Map<string, string>();
    for (const [jid, alternate] of [
      [remoteJid, remoteJidAlt],
      [participant, participantAlt],
    ]) {
      const address = jid && !alternate ? parseJid(jid) : undefined;
      if (address?.kind !== 'lid') continue;
      const phone = await this.#options.phoneOfLid(address.lid);
      if (phone) phones.set(address.lid, phone);
    }
    return phones;
  }

  #laneOf(attrs: BinaryNode['attrs']): string {
    const { chat, phone, lid } = addressesOf(attrs);
    if (phone && lid) this.#aliases.set(phone, lid);
    const person = lid ?? (phone && this.#aliases.get(phone)) ?? phone;
    return person ?? chat;
  }

  #nextOrder(): bigint {
    this.#lastOrder += 1n;
    return this.#lastOrder;
  }
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined;
}
