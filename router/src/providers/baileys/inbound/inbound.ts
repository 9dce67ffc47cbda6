/**
 * The inbound messages of one account as a deterministic state machine: events in, effects out, no clock, no I/O, no
 * randomness. The state changes in place.
 * `InboundRunner` performs the effects; the property tests and the simulation run the same class with a fake Signal.
 *
 * | State of a message | Event | Next | Effect |
 * | --- | --- | --- | --- |
 * | – | stanza | waiting | slot in its chat; decrypt when it is next |
 * | waiting | read | committing | – |
 * | waiting | not read, connection open | missing for 5 s | retry request to the sender |
 * | waiting | not read or closed, connection ended | missing | – |
 * | waiting | impossible, or open at the end of two connections | done | refuse; record as undecryptable |
 * | committing | committed | ready | receipt |
 * | committing | committed with its message | done | receipt |
 * | committing | commit failed | missing | – |
 * | committing | its unit is rejected | done | refuse; record as undecryptable |
 * | ready | first in its chat | delivering | deliver to core |
 * | delivering | delivered | done | forget the journal row, some seconds later |
 * | delivering | not delivered, service stops | ready | – |
 * | missing, given up | the same message again | waiting | – |
 * | – | done before, in an earlier process | done | forget the journal row, after the offline batch |
 * | missing | time limit; offline batch ended | given up | – |
 */

import type { Earlier, InboundEffect, InboundEvent, InboundStanza } from './inbound-events.ts';

type EventOf<S extends InboundStanza, C, T> = Extract<InboundEvent<S, C>, { type: T }>;

interface InboundLimits {
  /** Bytes of stanzas that are not decrypted and messages that core does not have. */
  maxBytes: number;
  /** No further stanza is decrypted while this many messages wait for core, unless messages of its chat wait for it. */
  maxUnstored: number;
}

const LIMITS: InboundLimits = { maxBytes: 32 * 1024 * 1024, maxUnstored: 200 };
/** Messages delivered to core at the same time; each uses a database connection. */
const MAX_DELIVERING = 6;
/** A phone that is online sends a message again within two seconds; one that is offline must not stop its chat. */
const RESEND_TICKS = 5;
/** A message that its sender has not sent again after this time is recorded as undecryptable. */
const UNDECRYPTABLE_TICKS = 60;
/** Maximum of retry requests that Baileys sends for one message. */
const MAX_FAILURES = 5;
const MAX_UNDECRYPTED = 1_000;
/** WhatsApp ends the offline batch with a stanza. Without one, it ends after this time without an offline message. */
const OFFLINE_QUIET_TICKS = 20;
/** Journal rows are kept for this time: a receipt may be lost, and then WhatsApp delivers the stanza again. */
const KEEP_TICKS = 5;
const MAX_GONE = 10_000;
/** Maximum of earlier messages in a journal row. */
const MAX_BEHIND = 100;
const MAX_FORGOTTEN = 1_000;
/** A stanza that was open when so many connections ended, with a database that works, is refused. */
const MAX_INTERRUPTIONS = 2;
const MAX_SUSPECTS = 1_000;

interface Message<S, C> {
  readonly key: string;
  readonly order: bigint;
  chat: Chat<S, C>;
  /** A `done` or `given-up` message has no slot in its chat. */
  state: 'waiting' | 'missing' | 'committing' | 'ready' | 'delivering' | 'done' | 'given-up';
  /** Tick at which a missing message is given up; undefined: at the end of the offline batch. */
  dueTick: number | undefined;
  /** Hash of the stanza that was read. */
  hash: string | undefined;
  content: C | undefined;
  bytes: number;
  /** The connection over which its receipt was sent. */
  receiptConnection: number;
}

interface Chat<S, C> {
  readonly name: string;
  /** In stanza order. */
  slots: Message<S, C>[];
  /** Stanzas to decrypt, in stanza order. */
  waiting: Arrival<S, C>[];
  waitingBytes: number;
  /** The connection that dropped stanzas of this chat: further ones are dropped too. */
  shortConnection: number;
}

/** One stanza of a message. */
interface Arrival<S, C> {
  stanza: S;
  message: Message<S, C>;
  connection: number;
}

/** The state of an account's inbound messages. */
export class InboundState<S extends InboundStanza, C> {
  readonly #limits: InboundLimits;
  #effects: InboundEffect<S, C>[] = [];
  #tick = 0;
  #lastOrder: bigint;
  #connection = 0;
  #isConnected = false;
  /** Nothing can be stored before the next connection. */
  #isCommitFailed = false;
  /** Ticks since the last message of the offline batch; undefined: no batch is awaited. */
  #quietTicks: number | undefined;
  readonly #chats = new Map<string, Chat<S, C>>();
  /** Chats with stanzas to decrypt; the first is next. */
  readonly #decryptQueue = new Set<Chat<S, C>>();
  /** Chats whose first message is ready. */
  readonly #deliverable = new Set<Chat<S, C>>();
  readonly #messages = new Map<string, Message<S, C>>();
  /** Known messages without a slot; the oldest are forgotten. */
  readonly #gone = new Set<Message<S, C>>();
  #decrypting: Arrival<S, C> | undefined;
  /** Stanzas that were read, each with its unit, in the order of units. */
  #committing: Array<Arrival<S, C> & { unit: number }> = [];
  #durable = 0;
  /** Messages with a retry request, oldest first. */
  readonly #undecrypted = new Map<string, { stanza: S; order: bigint; failures: number; dueTick: number }>();
  /**
   * Hashes of stanzas that may have ended a connection, and how many. The connection ends before other stanzas are handled,
   * so they are handled alone and last.
   */
  readonly #suspects = new Map<string, number>();
  /** Journal rows of stored messages, with the tick of their deletion; undefined: after the offline batch. */
  readonly #stored = new Map<string, number | undefined>();
  #bytes = 0;
  #unstored = 0;
  #delivering = 0;
  /** The first chat with dropped stanzas; the connection ends when the chat's other stanzas are decrypted. */
  #overflowing: Chat<S, C> | undefined;

  /** @param lastOrder orders of new messages are above this one */
  constructor(lastOrder: bigint, limits = LIMITS) {
    this.#lastOrder = lastOrder;
    this.#limits = limits;
  }

  /** Bytes of stanzas to decrypt and of messages that core does not have. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Messages that were read and that core does not have. */
  get unstored(): number {
    return this.#unstored;
  }

  /** Slots of messages that are not read. */
  get openSlots(): number {
    let open = 0;
    for (const { slots } of this.#chats.values())
      for (const message of slots) if (!isDecrypted(message)) open += 1;
    return open;
  }

  /** Applies one event. The same events give the same effects. Start the effects before the next event. */
  handle(event: InboundEvent<S, C>): InboundEffect<S, C>[] {
    this.#apply(event);
    this.#decryptNext();
    this.#endAfterOverflow();
    this.#deliverNext();
    return this.#effects.splice(0);
  }

  #apply(event: InboundEvent<S, C>): void {
    switch (event.type) {
      case 'opened':
        this.#durable = event.durable;
        this.#connection += 1;
        this.#isCommitFailed = false;
        this.#isConnected = true;
        break;
      case 'logged-in':
        this.#quietTicks = 0;
        break;
      case 'closed':
        this.#closed();
        break;
      case 'offline-ended':
        // After an overflow, the next connection delivers what was dropped.
        if (this.#isConnected && !this.#overflowing) this.#offlineEnded();
        break;
      case 'unlinked':
        this.#offlineEnded();
        break;
      case 'tick':
        this.#ticked();
        break;
      case 'stopping':
        for (const key of [...this.#undecrypted.keys()]) this.#giveUpText(key);
        break;
      case 'stanza':
        this.#arrived(event.stanza);
        break;
      case 'decrypted':
        this.#decrypted(event);
        break;
      case 'not-read':
        this.#notRead(event);
        break;
      case 'committed':
        this.#committed(event.unit, event.stored);
        break;
      case 'commit-failed':
        this.#commitFailed(event.isSuspect ?? false);
        break;
      case 'rejected':
        this.#rejected(event.unit);
        break;
      case 'journalled':
        this.#journalled(event);
        break;
      case 'done-before':
        this.#doneBefore(event);
        break;
      case 'announced':
        this.#announced(event);
        break;
      case 'missing':
        this.#countFailure(event.stanza);
        break;
      case 'content':
        this.#contentCame(event);
        break;
      case 'delivered':
        this.#delivered(event);
        break;
      case 'not-delivered':
        this.#notDelivered(event);
        break;
    }
  }

  // The connection

  /** WhatsApp delivers stanzas without a receipt again, with messages that were requested again. */
  #closed(): void {
    this.#isConnected = false;
    this.#quietTicks = undefined;
    this.#overflowing = undefined;
    for (const chat of this.#decryptQueue) {
      this.#bytes -= chat.waitingBytes;
      chat.waitingBytes = 0;
      chat.waiting = [];
    }
    this.#decryptQueue.clear();
    for (const chat of [...this.#chats.values()]) {
      for (const message of chat.slots) this.#miss(message, undefined);
      this.#discardIfIdle(chat);
    }
    // Receipts of the last seconds may be lost with the connection.
    for (const hash of this.#stored.keys()) this.#stored.set(hash, undefined);
  }

  #offlineEnded(): void {
    this.#quietTicks = undefined;
    for (const chat of [...this.#chats.values()])
      this.#giveUpMissing(chat, (dueTick) => dueTick === undefined);
    for (const [hash, dueTick] of this.#stored) {
      if (dueTick === undefined) this.#stored.set(hash, this.#tick + KEEP_TICKS);
    }
  }

  #ticked(): void {
    this.#tick += 1;
    for (const chat of [...this.#chats.values()]) {
      this.#giveUpMissing(chat, (dueTick) => dueTick !== undefined && dueTick <= this.#tick);
    }
    for (const [key, { dueTick }] of [...this.#undecrypted]) {
      if (dueTick > this.#tick) break;
      this.#giveUpText(key);
    }
    if (this.#quietTicks !== undefined) {
      this.#quietTicks += 1;
      if (this.#quietTicks >= OFFLINE_QUIET_TICKS && !this.#overflowing) this.#offlineEnded();
    }
    this.#forgetStored();
  }

  #forgetStored(): void {
    const hashes: string[] = [];
    for (const [hash, dueTick] of this.#stored) {
      if (dueTick === undefined || dueTick > this.#tick) continue;
      this.#stored.delete(hash);
      hashes.push(hash);
      if (hashes.length === MAX_FORGOTTEN) break;
    }
    if (hashes.length > 0) this.#effects.push({ type: 'forget', hashes });
  }

  // A stanza arrives

  #arrived(stanza: S): void {
    if (!this.#isConnected) return;
    if (stanza.isOffline && this.#quietTicks !== undefined) this.#quietTicks = 0;
    const known = this.#messages.get(stanza.key);
    const chat = known && hasSlot(known) ? known.chat : this.#chatOf(stanza.chat);
    // It would be delivered before the dropped stanzas of its chat.
    if (chat.shortConnection === this.#connection) {
      if (known) this.#miss(known, undefined);
      return;
    }
    const message = known ?? this.#know(stanza.key, chat);
    if (!isDecrypted(message)) {
      this.#takeSlot(message, chat);
      message.state = 'waiting';
    }
    this.#enqueue(chat, { stanza, message, connection: this.#connection });
    while (this.#bytes > this.#limits.maxBytes && this.#decryptQueue.size > 0) this.#dropOne();
  }

  #enqueue(chat: Chat<S, C>, arrival: Arrival<S, C>): void {
    const { order } = arrival.message;
    let at = chat.waiting.length;
    // A missing message is decrypted before later ones: its chat waits for it.
    while (at > 0 && (chat.waiting[at - 1]?.message.order ?? 0n) > order) at -= 1;
    chat.waiting.splice(at, 0, arrival);
    chat.waitingBytes += arrival.stanza.bytes;
    this.#bytes += arrival.stanza.bytes;
    this.#decryptQueue.add(chat);
  }

  #dequeue(chat: Chat<S, C>, from: 'first' | 'last'): Arrival<S, C> | undefined {
    const arrival = from === 'first' ? chat.waiting.shift() : chat.waiting.pop();
    if (!arrival) return undefined;
    chat.waitingBytes -= arrival.stanza.bytes;
    this.#bytes -= arrival.stanza.bytes;
    // The other chats are next.
    this.#decryptQueue.delete(chat);
    if (chat.waiting.length > 0) this.#decryptQueue.add(chat);
    this.#discardIfIdle(chat);
    return arrival;
  }

  /** Drops the last stanza of the largest chat. It has no acknowledgement, so WhatsApp delivers it again. */
  #dropOne(): void {
    let largest: Chat<S, C> | undefined;
    for (const chat of this.#decryptQueue) {
      if (!largest || chat.waitingBytes > largest.waitingBytes) largest = chat;
    }
    if (!largest) return;
    largest.shortConnection = this.#connection;
    this.#overflowing ??= largest;
    const dropped = this.#dequeue(largest, 'last');
    if (dropped) this.#miss(dropped.message, undefined);
  }

  #endAfterOverflow(): void {
    if (!this.#overflowing || this.#decrypting || this.#committing.length > 0) return;
    this.#effects.push({ type: 'disconnect' });
    this.#closed();
    // Messages that were read must not wait for a message that may not arrive: they would fill the memory again.
    for (const chat of [...this.#chats.values()]) {
      if (chat.slots.some(isDecrypted)) this.#giveUpMissing(chat, () => true);
    }
  }

  // Decryption

  #decryptNext(): void {
    while (!this.#decrypting && this.#overflowing?.waiting.length !== 0) {
      const chat = this.#eligible();
      const arrival = chat && this.#dequeue(chat, 'first');
      if (!chat || !arrival) return;
      const { stanza, message } = arrival;
      if ((this.#suspects.get(stanza.hash) ?? 0) >= MAX_INTERRUPTIONS) {
        this.#setAside(arrival);
        continue;
      }
      if (isDecrypted(message) && message.hash === stanza.hash) {
        this.#readAgain(arrival);
        continue;
      }
      this.#decrypting = arrival;
      const behind = behindOf(chat, message.order);
      this.#effects.push({
        type: 'decrypt',
        stanza,
        order: message.order,
        behind,
        isContent: !isDecrypted(message) || isInMemoryOnly(message),
        isNext: !stanza.isOffline && !isDecrypted(message) && chat.slots[0] === message,
      });
    }
  }

  /** The next chat with a stanza that may be decrypted now. */
  #eligible(): Chat<S, C> | undefined {
    const isFull = this.#unstored >= this.#limits.maxUnstored;
    if (this.#committing.some(({ stanza }) => this.#suspects.has(stanza.hash))) return undefined;
    let last: Chat<S, C> | undefined;
    for (const chat of this.#decryptQueue) {
      // Ready messages of a chat may wait for this stanza, so it is decrypted despite the limit.
      if (isFull && chat.slots[0]?.state !== 'waiting') continue;
      if (!this.#suspects.has(chat.waiting[0]?.stanza.hash ?? '')) return chat;
      last ??= chat;
    }
    return this.#committing.length === 0 ? last : undefined;
  }

  /** A connection ended while the stanza was open, and the stanza may be the cause. */
  #suspect({ hash }: S): void {
    const interruptions = this.#suspects.get(hash) ?? 0;
    this.#suspects.delete(hash);
    this.#suspects.set(hash, interruptions + 1);
    const [oldest] = this.#suspects.keys();
    if (oldest !== undefined && this.#suspects.size > MAX_SUSPECTS) this.#suspects.delete(oldest);
  }

  /** Ends a stanza that wa2ai cannot handle: nothing must wait for it, and WhatsApp must not deliver it again. */
  #setAside({ stanza, message }: Arrival<S, C>): void {
    this.#suspects.delete(stanza.hash);
    this.#effects.push({ type: 'refuse', stanza });
    if (message.state === 'done' || (isDecrypted(message) && message.hash !== stanza.hash)) return;
    this.#undecrypted.delete(message.key);
    this.#effects.push({ type: 'undecryptable', stanza, order: message.order });
    message.hash = stanza.hash;
    this.#leave(message, 'done');
  }

  /** The same stanza was delivered again: its receipt was lost, or is not sent yet. */
  #readAgain(arrival: Arrival<S, C>): void {
    const last = this.#committing.at(-1);
    if (arrival.message.state === 'committing' && last)
      this.#committing.push({ ...arrival, unit: last.unit });
    else this.#sendReceipts([arrival]);
  }

  #takeDecrypting(stanza: S): Arrival<S, C> | undefined {
    const arrival = this.#decrypting;
    if (arrival?.stanza !== stanza) return undefined;
    this.#decrypting = undefined;
    return arrival;
  }

  #decrypted({ stanza, unit, content, bytes }: EventOf<S, C, 'decrypted'>): void {
    const arrival = this.#takeDecrypting(stanza);
    if (!arrival) return;
    const { message } = arrival;
    this.#committing.push({ ...arrival, unit });
    if (!isDecrypted(message)) {
      this.#takeSlot(message, this.#chatOf(stanza.chat));
      this.#fill(message, 'committing', { hash: stanza.hash, content, bytes });
    }
    if (unit <= this.#durable) this.#committed(this.#durable);
  }

  #notRead({ stanza, why, isSuspect }: EventOf<S, C, 'not-read'>): void {
    const arrival = this.#takeDecrypting(stanza);
    if (!arrival) return;
    const { message } = arrival;
    // After a failed commit every step fails.
    if (isSuspect && !this.#isCommitFailed && !this.#isOver(arrival)) this.#suspect(stanza);
    // It can be neither acknowledged nor refused now.
    if (why === 'not-attempted' || this.#isOver(arrival)) {
      this.#miss(message, undefined);
      return;
    }
    if (why === 'impossible') {
      this.#setAside(arrival);
      return;
    }
    if (why === 'failed' && !isDecrypted(message)) {
      this.#effects.push({ type: 'ask-retry', stanza });
      this.#miss(message, this.#tick + RESEND_TICKS);
      this.#countFailure(stanza);
      return;
    }
    this.#effects.push({ type: 'refuse', stanza });
    if (isDecrypted(message) || this.#isArriving(message)) return;
    message.hash = stanza.hash;
    this.#leave(message, 'done');
  }

  // Commit

  #committed(unit: number, stored?: ReadonlySet<number>): void {
    this.#durable = Math.max(this.#durable, unit);
    const firstOpen = this.#committing.findIndex((arrival) => arrival.unit > this.#durable);
    const done = this.#committing.splice(0, firstOpen < 0 ? this.#committing.length : firstOpen);
    for (const { message, stanza, unit: own } of done) {
      this.#suspects.delete(stanza.hash);
      if (isInMemoryOnly(message)) message.hash = stanza.hash;
      if (message.state !== 'committing' || message.hash !== stanza.hash) continue;
      if (message.content === undefined || stored?.has(own)) {
        this.#leave(message, 'done');
        continue;
      }
      message.state = 'ready';
      this.#advance(message.chat);
    }
    this.#sendReceipts(done);
  }

  #rejected(unit: number): void {
    const isOfUnit = (arrival: { unit: number }) => arrival.unit === unit;
    for (const arrival of this.#committing.filter(isOfUnit)) this.#setAside(arrival);
    this.#committing = this.#committing.filter((arrival) => !isOfUnit(arrival));
  }

  #commitFailed(isSuspect: boolean): void {
    this.#isCommitFailed = true;
    for (const { message, stanza } of this.#committing.splice(0)) {
      if (isSuspect) this.#suspect(stanza);
      if (message.state !== 'committing') continue;
      this.#unstored -= 1;
      this.#bytes -= message.bytes;
      message.content = undefined;
      message.state = 'waiting';
      this.#miss(message, undefined);
    }
  }

  #sendReceipts(arrivals: ReadonlyArray<Arrival<S, C>>): void {
    const stanzas: S[] = [];
    for (const arrival of arrivals) {
      const { stanza, message } = arrival;
      if (this.#isOver(arrival)) continue;
      stanzas.push(stanza);
      if (this.#stored.has(stanza.hash)) this.#stored.set(stanza.hash, this.#tick + KEEP_TICKS);
      else if (message.hash === stanza.hash) message.receiptConnection = this.#connection;
    }
    if (stanzas.length > 0) this.#effects.push({ type: 'receipts', stanzas });
  }

  #isOver({ connection }: Arrival<S, C>): boolean {
    return !this.#isConnected || connection !== this.#connection;
  }

  // Delivery to core

  #deliverNext(): void {
    for (const chat of this.#deliverable) {
      if (this.#delivering >= MAX_DELIVERING) return;
      this.#deliverable.delete(chat);
      const message = chat.slots[0];
      if (message?.state !== 'ready' || message.content === undefined) continue;
      message.state = 'delivering';
      this.#delivering += 1;
      const { key, order, content } = message;
      this.#effects.push({ type: 'deliver', key, order, content });
    }
  }

  #delivered({ key, isStored }: EventOf<S, C, 'delivered'>): void {
    const message = this.#messages.get(key);
    if (message?.state !== 'delivering') return;
    this.#delivering -= 1;
    if (message.hash && isStored) {
      const isReceipted = this.#isConnected && message.receiptConnection === this.#connection;
      this.#stored.set(message.hash, isReceipted ? this.#tick + KEEP_TICKS : undefined);
    }
    this.#leave(message, 'done');
  }

  #notDelivered({ key }: EventOf<S, C, 'not-delivered'>): void {
    const message = this.#messages.get(key);
    if (message?.state !== 'delivering') return;
    this.#delivering -= 1;
    message.state = 'ready';
  }

  // Messages without a stanza, and messages that do not arrive

  #journalled({ stanza, order, content, bytes, behind }: EventOf<S, C, 'journalled'>): void {
    const { key, hash } = stanza;
    if (order > this.#lastOrder) this.#lastOrder = order;
    const known = this.#messages.get(key);
    if (known && isDecrypted(known)) {
      // Another row of the same message is not needed.
      if (known.hash !== hash) this.#stored.set(hash, undefined);
      return;
    }
    const chat = this.#chatOf(stanza.chat);
    for (const earlier of behind) {
      if (this.#messages.has(earlier.key)) continue;
      const message = this.#know(earlier.key, chat, earlier.order);
      this.#takeSlot(message, chat);
      message.state = 'missing';
    }
    const message = known ?? this.#know(key, chat, order);
    this.#takeSlot(message, chat);
    this.#fill(message, 'ready', { hash, content, bytes });
    this.#advance(message.chat);
  }

  #doneBefore({ stanza, order }: EventOf<S, C, 'done-before'>): void {
    const { key, hash } = stanza;
    if (order > this.#lastOrder) this.#lastOrder = order;
    this.#stored.set(hash, undefined);
    const known = this.#messages.get(key);
    if (known && isDecrypted(known)) return;
    const message = known ?? this.#know(key, this.#chatOf(stanza.chat), order);
    message.hash = hash;
    this.#leave(message, 'done');
  }

  #announced({ key, chat: name }: EventOf<S, C, 'announced'>): void {
    const known = this.#messages.get(key);
    if (!this.#isConnected || (known && (hasSlot(known) || isDecrypted(known)))) return;
    const chat = this.#chatOf(name);
    const message = known ?? this.#know(key, chat);
    this.#takeSlot(message, chat);
    message.state = 'missing';
    message.dueTick = this.#tick + RESEND_TICKS;
  }

  #contentCame({ stanza, content, bytes }: EventOf<S, C, 'content'>): void {
    const chat = this.#chatOf(stanza.chat);
    const message = this.#messages.get(stanza.key) ?? this.#know(stanza.key, chat);
    if (!isDecrypted(message)) {
      this.#takeSlot(message, chat);
      this.#fill(message, 'ready', { hash: undefined, content, bytes });
    }
    this.#advance(message.chat);
    this.#discardIfIdle(chat);
  }

  #countFailure(stanza: S): void {
    const { key } = stanza;
    const chat = this.#chatOf(stanza.chat);
    const message = this.#messages.get(key) ?? this.#know(key, chat);
    this.#discardIfIdle(chat);
    if (isDecrypted(message)) return;
    const known = this.#undecrypted.get(key);
    if (known) {
      known.failures += 1;
      if (known.failures >= MAX_FAILURES) this.#giveUpText(key);
      return;
    }
    const dueTick = this.#tick + UNDECRYPTABLE_TICKS;
    this.#undecrypted.set(key, { stanza, order: message.order, failures: 1, dueTick });
    const [oldest] = this.#undecrypted.keys();
    if (oldest !== undefined && this.#undecrypted.size > MAX_UNDECRYPTED) this.#giveUpText(oldest);
  }

  #giveUpText(key: string): void {
    const known = this.#undecrypted.get(key);
    if (!known) return;
    this.#undecrypted.delete(key);
    const message = this.#messages.get(key);
    if (message?.state === 'missing' && message.dueTick !== undefined) this.#leave(message, 'given-up');
    this.#effects.push({ type: 'undecryptable', stanza: known.stanza, order: known.order });
  }

  // Messages and their slots

  #chatOf(name: string): Chat<S, C> {
    const known = this.#chats.get(name);
    if (known) return known;
    const chat: Chat<S, C> = { name, slots: [], waiting: [], waitingBytes: 0, shortConnection: -1 };
    this.#chats.set(name, chat);
    return chat;
  }

  /** Adds a new message, without a slot. */
  #know(key: string, chat: Chat<S, C>, order?: bigint): Message<S, C> {
    if (order === undefined) this.#lastOrder += 1n;
    const message: Message<S, C> = {
      key,
      order: order ?? this.#lastOrder,
      chat,
      state: 'given-up',
      dueTick: undefined,
      hash: undefined,
      content: undefined,
      bytes: 0,
      receiptConnection: -1,
    };
    this.#messages.set(key, message);
    this.#setGone(message, 'given-up');
    return message;
  }

  /** Gives the message the next slot of the chat, unless it has one. */
  #takeSlot(message: Message<S, C>, chat: Chat<S, C>): void {
    if (hasSlot(message)) return;
    this.#gone.delete(message);
    this.#messages.set(message.key, message);
    message.chat = chat;
    message.dueTick = undefined;
    chat.slots.push(message);
  }

  #fill(
    message: Message<S, C>,
    state: 'committing' | 'ready',
    read: { hash: string | undefined; content: C | undefined; bytes: number },
  ): void {
    Object.assign(message, read, { state });
    this.#unstored += 1;
    this.#bytes += read.bytes;
    this.#undecrypted.delete(message.key);
  }

  /** Marks the message as missing until `dueTick` or the end of the offline batch, unless a stanza of it is waiting. */
  #miss(message: Message<S, C>, dueTick: number | undefined): void {
    if (!hasSlot(message) || isDecrypted(message) || this.#isArriving(message)) return;
    message.state = 'missing';
    message.dueTick = dueTick;
  }

  /** Whether a stanza of the message waits for decryption, over this connection. */
  #isArriving(message: Message<S, C>): boolean {
    const { waiting } = message.chat;
    if (this.#decrypting?.message === message && !this.#isOver(this.#decrypting)) return true;
    return waiting.some((arrival) => arrival.message === message);
  }

  #giveUpMissing(chat: Chat<S, C>, isDue: (dueTick: number | undefined) => boolean): void {
    for (const message of chat.slots) {
      if (message.state === 'missing' && isDue(message.dueTick)) this.#setGone(message, 'given-up');
    }
    const remaining = chat.slots.filter(hasSlot);
    if (remaining.length === chat.slots.length) return;
    chat.slots = remaining;
    this.#advance(chat);
  }

  /** Frees the slot of the message, so that the messages after it are delivered. */
  #leave(message: Message<S, C>, state: 'done' | 'given-up'): void {
    const { chat } = message;
    if (isDecrypted(message)) {
      this.#unstored -= 1;
      this.#bytes -= message.bytes;
    }
    chat.slots = chat.slots.filter((other) => other !== message);
    this.#setGone(message, state);
    this.#advance(chat);
  }

  /** Keeps the message for a while, in case it is delivered again. */
  #setGone(message: Message<S, C>, state: 'done' | 'given-up'): void {
    message.state = state;
    message.content = undefined;
    this.#gone.add(message);
    const [oldest] = this.#gone;
    if (!oldest || this.#gone.size <= MAX_GONE) return;
    this.#gone.delete(oldest);
    this.#messages.delete(oldest.key);
  }

  #advance(chat: Chat<S, C>): void {
    if (chat.slots[0]?.state === 'ready') this.#deliverable.add(chat);
    this.#discardIfIdle(chat);
  }

  #discardIfIdle(chat: Chat<S, C>): void {
    if (chat.slots.length > 0 || chat.waiting.length > 0) return;
    if (chat.shortConnection === this.#connection && this.#isConnected) return;
    if (this.#chats.get(chat.name) === chat) this.#chats.delete(chat.name);
  }
}

function hasSlot<S, C>({ state }: Message<S, C>): boolean {
  return state !== 'done' && state !== 'given-up';
}

function isDecrypted<S, C>({ state }: Message<S, C>): boolean {
  return state === 'committing' || state === 'ready' || state === 'delivering' || state === 'done';
}

/** Its content came without a stanza, so the journal does not have it, and core does not have it yet. */
function isInMemoryOnly<S, C>({ state, hash }: Message<S, C>): boolean {
  return hash === undefined && (state === 'ready' || state === 'delivering');
}

function behindOf<S, C>(chat: Chat<S, C>, order: bigint): Earlier[] {
  const isBehind = (message: Message<S, C>) => !isDecrypted(message) || isInMemoryOnly(message);
  const behind = chat.slots.filter((message) => message.order < order && isBehind(message));
  return behind.slice(0, MAX_BEHIND).map(({ key, order }) => ({ key, order }));
}
