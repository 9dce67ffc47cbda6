import { type BinaryNode, proto, type WAMessage } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { DamagedEntry, Journal, JournalEntry } from '../../core/ports/journal.ts';
import { ChatLanes } from './chat-lanes.ts';
import { HandOver, type HandOverOptions } from './hand-over.ts';
import { JournalTrim } from './journal-trim.ts';
import { KeptPlaces, type Place } from './kept-places.ts';
import { OfflinePhase } from './offline-phase.ts';
import { OrderedLanes } from './ordered-lanes.ts';
import { RecalledPlaintexts } from './recalled-plaintexts.ts';
import type { DecryptHooks } from './signal-repository.ts';
import {
  ciphertextHash,
  ciphertextsOf,
  encodeStanza,
  envelopeOf,
  fillEnvelope,
  isKeyAlone,
  isRefusedUnread,
  type JournalledStanza,
  messageKeyOf,
  senderOf,
  stanzasOf,
} from './stanza.ts';
import { StanzaGate, type Ticket } from './stanza-gate.ts';
import { noteOf, UndecryptableWatch } from './undecryptable.ts';

/** Longer than a stanza may wait for its decryption until the connection is broken off (UpsertWatch). */
const GATE_MS = 90_000;
/** Messages handed to core at the same time; each takes a database connection for a moment. */
const CONCURRENCY = 6;
/** No further delivery receipt goes out while this many messages wait for core. */
const MAX_BACKLOG = 200;
/** Stanzas whose order and outcome are remembered, for those that come twice. */
const REMEMBERED = 10_000;
const JOURNAL_PAGE = 500;
/** libsignal, of a message whose key was used: it was read before. */
const KEY_USED_BEFORE = 'Key used already or never filled';

export interface IntakeOptions extends HandOverOptions {
  journal: Journal;
  /** The journal holds a message that cannot be read, of an unknown chat. */
  onJournalUnreadable(waMessageId: string): void;
  /** A message is decrypted and handed on; Baileys will tell it too. */
  onDecrypted(messageKey: string): void;
  /** Something can still be written to WhatsApp. What fails when nothing can, WhatsApp delivers again. */
  canAnswer(): boolean;
}

/** A message on its way to core: from the socket, or out of the journal. */
interface Stanza {
  key: string;
  envelope: WAMessage;
  attrs: BinaryNode['attrs'];
  order: bigint;
  /** It waited at WhatsApp. */
  offline: boolean;
  plaintexts: Uint8Array[];
  /** Of the ciphertexts whose plaintexts are here: its journal entries. */
  hashes: string[];
  error?: unknown;
}

/** A stanza of the present connection that is not decrypted yet. */
interface OpenStanza extends Stanza {
  place: Place;
  ticket: Ticket;
  parts: number;
  /** Ciphertexts whose outcome is not known yet. */
  openParts: number;
  arrivedAtMs: number;
}

type Memory = { order: bigint; outcome: 'open' | 'handed' | 'failed' | 'received' };

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
  readonly #offlinePhase = new OfflinePhase(() => this.#places.deliveredAgain());
  readonly #handOver: HandOver;
  readonly #recalled: RecalledPlaintexts;
  readonly #trim: JournalTrim;
  readonly #undecryptable: UndecryptableWatch;
  readonly #memory = new LRUCache<string, Memory>({ max: REMEMBERED });
  readonly #stanzaOf = new WeakMap<Uint8Array, OpenStanza>();
  readonly #hashes = new WeakMap<Uint8Array, string>();
  readonly #open = new Set<OpenStanza>();
  #lastOrder = 0n;

  constructor(options: IntakeOptions) {
    const { journal, accountId, clock, log } = options;
    this.#options = options;
    this.#places = new KeptPlaces(this.#lanes, log);
    this.#handOver = new HandOver(options);
    this.#recalled = new RecalledPlaintexts(journal, accountId);
    this.#trim = new JournalTrim(journal, accountId, clock, log);
    this.#undecryptable = new UndecryptableWatch(({ key, attrs, order }) => {
      this.#places.giveUp(key);
      this.#recordUnread(attrs, order);
    }, log);
  }

  /**
   * Hands on what was journalled and perhaps not received. Call before the first connection.
   * @throws {StorageUnavailableError} the journal could not be read; call again
   */
  async replay(): Promise<void> {
    const { journal, accountId, clock, log } = this.#options;
    const stored = await journal.lastOrder(accountId);
    const byTime = BigInt(clock.now()) * 1_000n;
    if (stored > this.#lastOrder) this.#lastOrder = stored;
    if (byTime > this.#lastOrder) this.#lastOrder = byTime;
    let afterOrder = 0n;
    let replayed = 0;
    for (;;) {
      const entries = await journal.pending(accountId, { afterOrder, limit: JOURNAL_PAGE });
      const { stanzas, damaged } = stanzasOf(entries);
      for (const stanza of stanzas) {
        this.#replayOne(stanza);
        replayed += 1;
      }
      for (const each of damaged) this.#replayDamaged(each.entry, each.attrs);
      const last = entries.at(-1);
      if (!last || entries.length < JOURNAL_PAGE) break;
      afterOrder = last.stanzaOrder;
      await this.#lanes.below(MAX_BACKLOG);
    }
    if (replayed > 0) {
      log.info({ messages: replayed, kept: this.#places.size }, 'journalled messages handed on again');
    }
  }

  /** A `message` stanza reached the socket. Call before Baileys sees it. */
  arrived(node: BinaryNode): void {
    const { attrs } = node;
    const envelope = envelopeOf(attrs, this.#options.own());
    if (!envelope || isRefusedUnread(node)) return;
    const offline = attrs.offline !== undefined;
    if (offline) this.#offlinePhase.runs();
    const key = messageKeyOf(envelope);
    const before = this.#memory.get(key);
    const order = before?.order ?? this.#nextOrder();
    const lane = this.#chats.of(attrs);
    const ciphertexts = ciphertextsOf(node);
    if (ciphertexts.length === 0) {
      const isKnown = before?.outcome === 'received' || before?.outcome === 'handed';
      if (!isKnown) this.#arrivedEmpty(key, order, lane);
      return;
    }
    if (before?.outcome !== 'received') this.#memory.set(key, { order, outcome: 'open' });
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
      plaintexts: [],
      hashes: [],
      arrivedAtMs: this.#options.clock.monotonicMs(),
    };
    this.#open.add(stanza);
    for (const ciphertext of ciphertexts) this.#stanzaOf.set(ciphertext, stanza);
    this.#tell(stanza, 'a message reached the socket');
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
    return {
      ciphertextHash: hash,
      stanzaOrder: order,
      waMessageId: attrs.id ?? '',
      stanza: encodeStanza({ attrs, parts, behind: this.#places.before(place) }),
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

  recall(hash: string): Promise<JournalEntry | undefined> {
    return this.#recalled.find(hash);
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
    const lane = this.#chats.of({ from: message.key.remoteJid ?? '' });
    const place = this.#places.begin({ key, order, lane });
    this.#places.fill(place, async () => {
      await this.#deliver({ key, message, order, type, hashes: [] });
    });
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
    this.#places.deliveredAgain();
  }

  /** How long the oldest stanza waits for its decryption, in milliseconds. */
  oldestOpenMs(): number {
    const [oldest] = this.#open;
    return oldest ? this.#options.clock.monotonicMs() - oldest.arrivedAtMs : 0;
  }

  /**
   * Resolves when all that was decrypted, and waits for nothing before it, is received. What waits, and what core cannot
   * take now, is left to the journal and the next replay: handing it on now would be too early for its place.
   */
  async stop(): Promise<void> {
    this.connectionClosed();
    this.#undecryptable.finish();
    this.#handOver.stop();
    await this.#lanes.below(1);
    await this.#trim.finish();
  }

  #partEnded(stanza: OpenStanza): void {
    const { key, place } = stanza;
    stanza.openParts -= 1;
    if (stanza.openParts > 0) return;
    const isOfThisConnection = this.#open.delete(stanza);
    const isUnread = stanza.plaintexts.length === 0 || (stanza.error && stanza.plaintexts.every(isKeyAlone));
    if (isUnread) {
      // The place of what came over a connection that ended waits for its redelivery already.
      if (isOfThisConnection) this.#unread(stanza);
      return;
    }
    if (this.#memory.get(key)?.outcome !== 'received') {
      this.#memory.set(key, { order: stanza.order, outcome: 'handed' });
    }
    if (!stanza.error) this.#options.onDecrypted(key);
    this.#tell(stanza, 'a message was decrypted');
    this.#places.fill(place, () => this.#deliverStanza(stanza));
  }

  /** Baileys refuses it or asks its sender to send it again, if it still can. */
  #unread(stanza: OpenStanza): void {
    const { key, place, attrs, order, error, hashes } = stanza;
    this.#tell(stanza, 'a message was not decrypted');
    if (!this.#options.canAnswer()) {
      this.#places.lost(place);
      return;
    }
    this.#trim.received(hashes);
    const outcome = this.#memory.get(key)?.outcome;
    const isKnown = outcome === 'received' || outcome === 'handed';
    if (isKnown || messageOf(error) === KEY_USED_BEFORE) {
      this.#places.nothing(place);
      return;
    }
    this.#places.asked(place);
    this.#noteFailure(key, attrs, order);
  }

  #noteFailure(key: string, attrs: BinaryNode['attrs'], order: bigint): void {
    this.#memory.set(key, { order, outcome: 'failed' });
    this.#undecryptable.failed({ key, attrs, order });
  }

  /** A stanza without ciphertext: its content may be told in a moment, or come from the phone. */
  #arrivedEmpty(key: string, order: bigint, lane: string): void {
    this.#memory.set(key, { order, outcome: 'failed' });
    this.#places.asked(this.#places.begin({ key, order, lane }));
  }

  /** Baileys asks the phone for the content of a stanza that came without ciphertext. */
  #missing(message: WAMessage, order: bigint | undefined): void {
    const { remoteJid, participant, id, fromMe } = message.key;
    if (fromMe || !remoteJid || !id) return;
    const attrs: BinaryNode['attrs'] = { id, from: remoteJid, t: String(message.messageTimestamp ?? '') };
    if (participant) attrs.participant = participant;
    this.#noteFailure(messageKeyOf(message), attrs, order ?? this.#nextOrder());
  }

  /** Core has a note of it. In a lane of its own: the note need not wait for what is before the message. */
  #recordUnread(attrs: BinaryNode['attrs'], order: bigint): void {
    const message = noteOf(attrs, this.#options.own());
    if (!message) return;
    const key = messageKeyOf(message);
    this.#lanes.push(`notes of ${this.#chats.of(attrs)}`, async () => {
      await this.#deliver({ key, message, order, type: 'notify', hashes: [] });
    });
  }

  #replayOne({ attrs, order, entries, parts, behind }: JournalledStanza): void {
    const hashes = entries.map((entry) => entry.ciphertextHash);
    const envelope = envelopeOf(attrs, this.#options.own());
    if (!envelope) {
      for (const entry of entries) this.#replayDamaged(entry, undefined);
      return;
    }
    for (const entry of entries) this.#recalled.remember(entry);
    const key = messageKeyOf(envelope);
    const lane = this.#chats.of(attrs);
    for (const earlier of behind) this.#keepPlace({ ...earlier, lane });
    const plaintexts = entries.map((entry) => entry.plaintext);
    if (entries.length < parts && plaintexts.every(isKeyAlone)) {
      // The group's key alone was stored when the process ended; what its author wrote comes again.
      this.#keepPlace({ key, order, lane }, () => {
        this.#trim.received(hashes);
        this.#noteFailure(key, attrs, order);
      });
      return;
    }
    this.#memory.set(key, { order, outcome: 'handed' });
    const stanza: Stanza = { key, envelope, attrs, order, offline: true, plaintexts, hashes };
    this.#lanes.push(lane, () => this.#deliverStanza(stanza));
  }

  /**
   * What it said is lost. That it was there is noted in its chat; where the chat is not known, by the account. The entry
   * stays: PostgreSQL cannot remove a value whose blocks it cannot read, and who mends it may read it yet.
   */
  #replayDamaged(entry: JournalEntry | DamagedEntry, attrs: BinaryNode['attrs'] | undefined): void {
    const { waMessageId, stanzaOrder } = entry;
    this.#options.log.error({ waMessageId }, 'a journalled message cannot be read');
    if (!attrs || !envelopeOf(attrs, this.#options.own())) {
      this.#options.onJournalUnreadable(waMessageId);
      return;
    }
    this.#recordUnread(attrs, stanzaOrder);
  }

  /** A later message may have been journalled while an earlier one was not: the earlier one keeps its place. */
  #keepPlace(wanted: { key: string; order: bigint; lane: string }, onGivenUp?: () => void): void {
    if (this.#memory.has(wanted.key)) return;
    this.#memory.set(wanted.key, { order: wanted.order, outcome: 'open' });
    this.#places.keep(wanted, onGivenUp);
  }

  async #deliverStanza(stanza: Stanza): Promise<void> {
    const { key, attrs, order, hashes } = stanza;
    let message: WAMessage;
    try {
      message = fillEnvelope(stanza.envelope, stanza.plaintexts, this.#options.own());
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a decrypted message is malformed');
      this.#trim.received(hashes);
      this.#noteFailure(key, attrs, order);
      return;
    }
    await this.#deliver({ key, message, order, type: stanza.offline ? 'append' : 'notify', hashes });
    this.#undecryptable.resolved(key);
  }

  async #deliver(item: {
    key: string;
    message: WAMessage;
    order: bigint;
    type: 'notify' | 'append';
    hashes: string[];
  }): Promise<void> {
    if ((await this.#handOver.handOver(item)) === 'left') return;
    this.#memory.set(item.key, { order: item.order, outcome: 'received' });
    this.#trim.received(item.hashes);
  }

  #nextOrder(): bigint {
    this.#lastOrder += 1n;
    return this.#lastOrder;
  }

  #tell({ attrs, order, offline, place }: OpenStanza, what: string): void {
    const { log } = this.#options;
    const behind = this.#places.before(place).length;
    log.debug({ waMessageId: attrs.id, order: String(order), offline, behind }, what);
  }
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined;
}
