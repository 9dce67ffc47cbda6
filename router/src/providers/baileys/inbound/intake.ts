import { type BinaryNode, proto, type WAMessage } from '@whiskeysockets/baileys';
import type { Journal, JournalEntry } from '../../../core/ports/journal.ts';
import {
  ciphertextHash,
  ciphertextsOf,
  encodeStanza,
  envelopeOf,
  isKeyAlone,
  isRefusedUnread,
  messageKeyOf,
  senderOf,
} from '../messages/stanza.ts';
import type { DecryptHooks } from '../signal/signal-repository.ts';
import { ChatLanes } from './chat-lanes.ts';
import { CoreDelivery, type CoreDeliveryOptions } from './core-delivery.ts';
import { JournalReplay } from './journal-replay.ts';
import { JournalTrim } from './journal-trim.ts';
import { KeptPlaces, type Place } from './kept-places.ts';
import { OfflinePhase } from './offline-phase.ts';
import { OrderedLanes } from './ordered-lanes.ts';
import { PlaintextCache } from './plaintext-cache.ts';
import { type DecryptedStanza, StanzaDelivery } from './stanza-delivery.ts';
import { StanzaGate, type Ticket } from './stanza-gate.ts';
import { StanzaMemory } from './stanza-memory.ts';
import { UndecryptedMessages } from './undecrypted-messages.ts';

/** Longer than a stanza may wait for its decryption until the connection is broken off (EventBufferWatchdog). */
const GATE_MS = 90_000;
/** Messages handed to core at the same time; each takes a database connection for a moment. */
const CONCURRENCY = 6;
/** No further delivery receipt goes out while this many messages wait for core. */
const MAX_BACKLOG = 200;
/** libsignal, of a message whose key was used: it was read before. */
const KEY_USED_BEFORE = 'Key used already or never filled';

export interface IntakeOptions extends CoreDeliveryOptions {
  journal: Journal;
  /** The journal holds a message that cannot be read, of an unknown chat. */
  onJournalUnreadable(waMessageId: string): void;
  /** A message is decrypted and handed on; Baileys will tell it too. */
  onDecrypted(messageKey: string): void;
  /** Something can still be written to WhatsApp. What fails when nothing can, WhatsApp delivers again. */
  canAnswer(): boolean;
}

/** A stanza of the present connection that is not decrypted yet. */
interface OpenStanza extends DecryptedStanza {
  error?: unknown;
  place: Place;
  ticket: Ticket;
  parts: number;
  /** Ciphertexts whose outcome is not known yet. */
  openParts: number;
  /** How many messages of its chat it waited for when its decryption began. */
  behind: number;
  arrivedAtMs: number;
}

/**
 * Brings messages from the socket to core: each in the order in which its stanza reached the socket, within its chat;
 * straight from decryption, so that Baileys' event buffer cannot hold it up; and again until core has it.
 *
 * The way of a stanza: it `arrived` and has its place in its chat; Baileys asks for its `turn`, has `begun` to decrypt
 * it, and gets an `entryFor` the journal; it is `decrypted` or has `failed`; its work runs in its place. What an earlier
 * process left in the journal takes the same places in `replay`.
 */
export class Intake implements DecryptHooks {
  readonly #options: IntakeOptions;
  readonly #lanes = new OrderedLanes(CONCURRENCY);
  readonly #chats = new ChatLanes();
  readonly #places: KeptPlaces;
  readonly #gate = new StanzaGate(GATE_MS);
  readonly #offlinePhase = new OfflinePhase(() => this.#allDelivered());
  readonly #handOver: CoreDelivery;
  readonly #delivery: StanzaDelivery;
  readonly #recalled: PlaintextCache;
  readonly #trim: JournalTrim;
  readonly #unread: UndecryptedMessages;
  readonly #replay: JournalReplay;
  readonly #memory = new StanzaMemory();
  readonly #stanzaOf = new WeakMap<Uint8Array, OpenStanza>();
  readonly #hashes = new WeakMap<Uint8Array, string>();
  readonly #open = new Set<OpenStanza>();

  constructor(options: IntakeOptions) {
    const { journal, accountId, clock, log, own } = options;
    this.#options = options;
    this.#places = new KeptPlaces(this.#lanes, log);
    this.#handOver = new CoreDelivery(options);
    this.#recalled = new PlaintextCache(journal, accountId);
    this.#trim = new JournalTrim(journal, accountId, clock, log);
    this.#delivery = new StanzaDelivery({
      handOver: this.#handOver,
      memory: this.#memory,
      trim: this.#trim,
      own,
      log,
    });
    this.#unread = new UndecryptedMessages({
      memory: this.#memory,
      places: this.#places,
      lanes: this.#lanes,
      chats: this.#chats,
      delivery: this.#delivery,
      own,
      log,
    });
    this.#replay = new JournalReplay({
      journal,
      accountId,
      memory: this.#memory,
      places: this.#places,
      lanes: this.#lanes,
      chats: this.#chats,
      recalled: this.#recalled,
      trim: this.#trim,
      unread: this.#unread,
      deliver: (stanza) => this.#deliver(stanza),
      own,
      onJournalUnreadable: options.onJournalUnreadable,
      maxBacklog: MAX_BACKLOG,
      clock,
      log,
    });
  }

  /**
   * Hands on what was journalled and perhaps not received. Call before the first connection.
   * @throws {StorageUnavailableError} the journal could not be read; call again
   */
  replay(): Promise<void> {
    return this.#replay.run();
  }

  /** Names the chat of a `message` stanza; one chat's stanzas are to `arrive` in the order in which WhatsApp sent them. */
  chatOf(attrs: BinaryNode['attrs']): string {
    return this.#chats.of(attrs);
  }

  /**
   * A `message` stanza reached the socket. Call before Baileys sees it.
   * @returns whether Baileys will come to decrypt it
   */
  arrived(node: BinaryNode): boolean {
    const { attrs } = node;
    const envelope = envelopeOf(attrs, this.#options.own());
    if (!envelope || isRefusedUnread(node)) return false;
    const offline = attrs.offline !== undefined;
    if (offline) this.#offlinePhase.runs();
    const key = messageKeyOf(envelope);
    this.#replay.cameAgain(key);
    const order = this.#memory.orderOf(key);
    const lane = this.#chats.of(attrs);
    const ciphertexts = ciphertextsOf(node);
    if (ciphertexts.length === 0) {
      if (!this.#memory.isRead(key)) this.#arrivedEmpty(key, order, lane);
      return false;
    }
    this.#memory.note(key, order, 'open');
    const stanza: OpenStanza = {
      key,
      envelope,
      attrs,
      order,
      offline,
      place: this.#places.begin({ key, order, lane }),
      ticket: this.#gate.enter(lane, offline),
      parts: ciphertexts.length,
      openParts: ciphertexts.length,
      behind: 0,
      plaintexts: [],
      hashes: [],
      arrivedAtMs: this.#options.clock.monotonicMs(),
    };
    this.#open.add(stanza);
    for (const ciphertext of ciphertexts) this.#stanzaOf.set(ciphertext, stanza);
    this.#tell(stanza, 'a message reached the socket');
    return true;
  }

  /** Baileys has begun with the stanza that arrived. */
  leave(): void {
    this.#gate.leave();
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
    const { attrs, parts, order, place } = stanza;
    const hash = this.#hashes.get(ciphertext) ?? ciphertextHash(senderOf(attrs), ciphertext);
    this.#hashes.set(ciphertext, hash);
    const behind = this.#places.before(place);
    stanza.behind = behind.length;
    return {
      ciphertextHash: hash,
      stanzaOrder: order,
      waMessageId: attrs.id ?? '',
      stanza: encodeStanza({ attrs, parts, behind }),
    };
  }

  async decrypted(ciphertext: Uint8Array, entry: JournalEntry): Promise<void> {
    this.#recalled.remember(entry);
    const stanza = this.#stanzaOf.get(ciphertext);
    if (!stanza) return;
    stanza.plaintexts.push(entry.plaintext);
    stanza.hashes.push(entry.ciphertextHash);
    this.#partEnded(stanza);
    await this.#lanes.below(MAX_BACKLOG);
  }

  failed(ciphertext: Uint8Array, error: unknown): void {
    const stanza = this.#stanzaOf.get(ciphertext);
    if (!stanza) return;
    stanza.error = error;
    this.#partEnded(stanza);
  }

  taken(ciphertext: Uint8Array): void {
    const hash = this.#hashes.get(ciphertext);
    if (hash) this.#trim.receipted(hash);
  }

  remembered(hash: string): JournalEntry | undefined {
    return this.#recalled.atHand(hash);
  }

  recall(hash: string): Promise<JournalEntry | undefined> {
    return this.#recalled.find(hash);
  }

  /**
   * Baileys told a message. What was decrypted here is known already; what came another way (a placeholder's content
   * from the phone, a stanza without ciphertext) is handed on.
   */
  upserted(message: WAMessage, type: 'notify' | 'append'): void {
    const key = messageKeyOf(message);
    const outcome = this.#memory.outcomeOf(key);
    if (outcome && outcome !== 'failed') return;
    const isStub = message.messageStubType === proto.WebMessageInfo.StubType.CIPHERTEXT && !message.message;
    if (isStub) {
      this.#unread.missing(message);
      return;
    }
    if (!message.message) return;
    const order = this.#memory.orderOf(key);
    this.#unread.resolved(key);
    this.#memory.note(key, order, 'handed');
    const lane = this.#chats.of({ from: message.key.remoteJid ?? '' });
    const place = this.#places.begin({ key, order, lane });
    this.#places.fill(place, () => this.#delivery.deliverMessage({ key, message, order, type }));
  }

  /** Logged in: WhatsApp delivers what waited. */
  connected(): void {
    this.#offlinePhase.runs();
  }

  /** WhatsApp has delivered all that waited. */
  offlineDelivered(): void {
    this.#offlinePhase.over();
  }

  /** The connection is gone: WhatsApp will deliver again what was not decrypted. */
  connectionClosed(): void {
    this.#offlinePhase.connectionClosed();
    this.#open.clear();
    this.#places.connectionClosed();
    this.#gate.passAll();
  }

  /** The link is gone, and with it all that WhatsApp might have delivered again. */
  unlinked(): void {
    this.#allDelivered();
  }

  /** How long the oldest stanza waits for its decryption, in milliseconds. */
  oldestOpenMs(): number {
    const [oldest] = this.#open;
    return oldest ? this.#options.clock.monotonicMs() - oldest.arrivedAtMs : 0;
  }

  /** What core cannot take is left to the journal from now on, and a replay under way ends; `stop` follows. */
  waitNoMore(): void {
    this.#handOver.stop();
  }

  /**
   * Resolves when all that was decrypted, and waits for nothing before it, is received. What waits, and what core cannot
   * take now, is left to the journal and the next replay: handing it on now would be too early for its place.
   */
  async stop(): Promise<void> {
    this.connectionClosed();
    this.#unread.finish();
    this.waitNoMore();
    await this.#lanes.below(1);
    await this.#trim.finish();
    this.#gate.close();
  }

  /** What waits for its redelivery waits in vain, and what the journal kept for one is of no more use. */
  #allDelivered(): void {
    this.#places.deliveredAgain();
    this.#replay.allDelivered();
  }

  #partEnded(stanza: OpenStanza): void {
    const { key, place } = stanza;
    stanza.openParts -= 1;
    if (stanza.openParts > 0) return;
    const isOfThisConnection = this.#open.delete(stanza);
    const isUnread = stanza.plaintexts.length === 0 || (stanza.error && stanza.plaintexts.every(isKeyAlone));
    if (isUnread) {
      // The place of what came over a connection that ended waits for its redelivery already.
      if (isOfThisConnection) this.#notRead(stanza);
      return;
    }
    this.#memory.note(key, stanza.order, 'handed');
    if (!stanza.error) this.#options.onDecrypted(key);
    this.#tell(stanza, 'a message was decrypted');
    this.#places.fill(place, () => this.#deliver(stanza));
  }

  /** Baileys refuses it or asks its sender to send it again, if it still can. */
  #notRead(stanza: OpenStanza): void {
    const { key, place, attrs, order, error, hashes } = stanza;
    this.#tell(stanza, 'a message was not decrypted');
    if (!this.#options.canAnswer()) {
      this.#places.lost(place);
      return;
    }
    this.#trim.received(hashes);
    if (this.#memory.isRead(key) || messageOf(error) === KEY_USED_BEFORE) {
      this.#places.nothing(place);
      return;
    }
    this.#places.asked(place);
    this.#unread.failed({ key, attrs, order });
  }

  /** A stanza without ciphertext: its content may be told in a moment, or come from the phone. */
  #arrivedEmpty(key: string, order: bigint, lane: string): void {
    this.#memory.note(key, order, 'failed');
    this.#places.asked(this.#places.begin({ key, order, lane }));
  }

  async #deliver(stanza: DecryptedStanza): Promise<void> {
    const { key, attrs, order } = stanza;
    if (await this.#delivery.deliver(stanza)) this.#unread.resolved(key);
    else this.#unread.failed({ key, attrs, order });
  }

  #tell({ attrs, order, offline, behind }: OpenStanza, what: string): void {
    const { log } = this.#options;
    log.debug({ waMessageId: attrs.id, order: String(order), offline, behind }, what);
  }
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined;
}
