/**
 * The inbound messages of one account as a pure state machine: events in, effects out, no clock, no I/O, no randomness.
 * `InboundRunner` performs the effects; the property tests and the simulation run the same function with a fake Signal.
 *
 * | State of a message | Event | Next | Effect |
 * | --- | --- | --- | --- |
 * | – | stanza | waiting | slot in its chat |
 * | waiting | its turn | waiting | decrypt |
 * | waiting | read | committing | – |
 * | waiting | failed, connection open | asked | ask the sender to send it again |
 * | waiting | failed or closed, connection over | lost | – |
 * | committing | committed | ready | receipt |
 * | committing | commit failed | lost | – |
 * | ready | first in its chat | delivering | deliver to core |
 * | delivering | stored, refused | gone | forget the journal row, some seconds later |
 * | asked | 5 s | gone | – |
 * | asked, lost | the same message again | waiting | – |
 * | lost | offline batch ended, unlinked | gone | – |
 */

/** What the reducer knows of a stanza; the runner's own stanza has more. */
export interface InboundStanza {
  /** Names the message within the account: chat, writer, WhatsApp id. */
  readonly key: string;
  /** Messages of one chat are delivered in the order in which their stanzas arrived. */
  readonly chat: string;
  /** Of its ciphertexts: the same stanza delivered again has the same one. */
  readonly hash: string;
  readonly bytes: number;
  /** It was queued at WhatsApp while the account was not connected. */
  readonly isOffline: boolean;
}

/** A message that arrived before another one of its chat and is not decrypted. */
export interface Earlier {
  key: string;
  order: bigint;
}

/** `C` is the decrypted content, opaque to the reducer. A tick is one second. */
export type InboundEvent<S extends InboundStanza, C> =
  /** A new connection, whose units up to this one are durable. */
  | { type: 'opened'; durable: number }
  | { type: 'logged-in' }
  | { type: 'closed' }
  /** WhatsApp has delivered everything that was queued. */
  | { type: 'offline-ended' }
  /** WhatsApp will deliver nothing again: the link is gone. */
  | { type: 'unlinked' }
  | { type: 'tick' }
  | { type: 'stopping' }
  /** An ordinary message reached the socket. */
  | { type: 'stanza'; stanza: S }
  /** The stanza being decrypted was read; its unit has this number. No content: it brought a group key and no message. */
  | { type: 'read'; stanza: S; unit: number; content: C | undefined; bytes: number }
  /** Its keys were used: it was read before. */
  | { type: 'spent'; stanza: S }
  | { type: 'failed'; stanza: S }
  /** Storage did not work: the stanza was not tried, or its unit is void. */
  | { type: 'not-tried'; stanza: S }
  /** Everything up to this unit is durable. */
  | { type: 'committed'; unit: number }
  /** Nothing of what is not durable by now ever will be. */
  | { type: 'commit-failed' }
  /** A message of an earlier process, in stanza order; before the first connection. */
  | {
      type: 'journalled';
      stanza: S;
      order: bigint;
      content: C;
      bytes: number;
      behind: readonly Earlier[];
    }
  /** A message without ciphertext reached the socket: its content may come from the account's phone. */
  | { type: 'announced'; key: string; chat: string }
  /** The content did not come with the announced message. */
  | { type: 'missing'; stanza: S }
  /** Content that came another way than in a stanza. */
  | { type: 'content'; stanza: S; content: C; bytes: number }
  /** Core has the message, or there was nothing in it for core. */
  | { type: 'stored'; key: string }
  /** Core will not take the message; its journal row stays. */
  | { type: 'refused'; key: string };

export type InboundEffect<S extends InboundStanza, C> =
  /**
   * One at a time; ends with `read`, `spent`, `failed` or `not-tried`. Without `isContent` the message was read before:
   * the stanza is decrypted to keep the ratchet, and its text is not journalled.
   */
  | { type: 'decrypt'; stanza: S; order: bigint; behind: Earlier[]; isContent: boolean }
  /** Delivery receipts. */
  | { type: 'receipts'; stanzas: S[] }
  /** Ask the sender to send it again, and refuse this stanza. */
  | { type: 'ask-retry'; stanza: S }
  /** Refuse a stanza whose message was read before. */
  | { type: 'refuse'; stanza: S }
  /** Ends with `stored` or `refused`. */
  | { type: 'deliver'; key: string; order: bigint; content: C }
  /** The message is given up unless its content comes another way. */
  | { type: 'undecryptable'; stanza: S; order: bigint }
  | { type: 'forget'; hashes: string[] }
  /** Messages were dropped without an acknowledgement; the rest of the chat is dropped with them. */
  | { type: 'overflow' }
  /** Everything taken before the overflow is done: the next connection brings what was dropped. */
  | { type: 'disconnect' };

export interface InboundLimits {
  /** Bytes of stanzas that are not decrypted and messages that core does not have. */
  maxBytes: number;
  /** No further stanza is decrypted while core has yet to take this many messages, unless its chat waits for it. */
  maxUnstored: number;
}

const LIMITS: InboundLimits = { maxBytes: 32 * 1024 * 1024, maxUnstored: 200 };
/** Messages delivered to core at the same time; each takes a database connection. */
const MAX_DELIVERING = 6;
/** A phone that is online sends a message again within two seconds; one that is not must not stop its chat. */
export const RESEND_TICKS = 5;
/** A message whose sender has not sent it again by then is recorded as undecryptable. */
export const UNDECRYPTABLE_TICKS = 60;
/** Baileys asks a sender this often. */
const MAX_FAILURES = 5;
const MAX_UNDECRYPTED = 1_000;
/** WhatsApp ends the offline batch with a stanza; without one, this long without an offline message ends it. */
export const OFFLINE_QUIET_TICKS = 20;
/** A receipt may be lost with its connection, and WhatsApp then delivers the stanza again. */
export const KEEP_TICKS = 5;
const MAX_SEEN = 10_000;
/** Earlier messages named in a journal row. */
const MAX_BEHIND = 100;
const MAX_FORGOTTEN = 1_000;

interface Message<S, C> {
  readonly key: string;
  readonly order: bigint;
  readonly chat: Chat<S, C>;
  state: 'waiting' | 'asked' | 'lost' | 'committing' | 'ready' | 'delivering';
  /** Its stanzas of this connection that are not decrypted. */
  arriving: number;
  /** Of the stanza that was read. */
  hash: string | undefined;
  content: C | undefined;
  bytes: number;
  /** Tick at which an asked one is given up. */
  dueTick: number;
}

interface Chat<S, C> {
  readonly name: string;
  /** In stanza order. */
  slots: Message<S, C>[];
  /** Stanzas to be decrypted, in stanza order. */
  waiting: Waiting<S>[];
  waitingBytes: number;
  /** The connection that dropped stanzas of this chat. */
  shortConnection: number;
}

interface Waiting<S> {
  stanza: S;
  order: bigint;
  connection: number;
  /** In the order of arrival. */
  serial: number;
}

interface Pending<S> {
  unit: number;
  item: Waiting<S>;
  /** It is the message's content, not a further stanza of a message that was read. */
  isContent: boolean;
}

interface Seen {
  order: bigint;
  hash: string | undefined;
  isRead: boolean;
}

/**
 * One step. Takes over `state` and returns it changed: use the returned one. The same events give the same effects, and
 * an effect is started before the next event is given.
 */
export function inbound<S extends InboundStanza, C>(
  state: InboundState<S, C>,
  event: InboundEvent<S, C>,
): { state: InboundState<S, C>; effects: InboundEffect<S, C>[] } {
  return { state, effects: state.handle(event) };
}

/** The state of an account's inbound messages. Only `inbound` changes it. */
export class InboundState<S extends InboundStanza, C> {
  readonly #limits: InboundLimits;
  #effects: InboundEffect<S, C>[] = [];
  #tick = 0;
  #lastOrder: bigint;
  #connection = 0;
  #isConnected = false;
  #offline: 'away' | 'running' | 'over' = 'away';
  #quietTicks = 0;
  readonly #chats = new Map<string, Chat<S, C>>();
  /** Chats with stanzas to be decrypted; the first is next. */
  readonly #turns = new Set<Chat<S, C>>();
  /** Chats whose first message is ready. */
  readonly #deliverable = new Set<Chat<S, C>>();
  /** Messages with a slot. */
  readonly #messages = new Map<string, Message<S, C>>();
  /** Messages without a slot any more; the oldest are forgotten. */
  readonly #seen = new Map<string, Seen>();
  #decrypting: Waiting<S> | undefined;
  #committing: Pending<S>[] = [];
  #durable = 0;
  readonly #asked = new Set<Message<S, C>>();
  /** Messages that their senders were asked for, oldest first. */
  readonly #undecrypted = new Map<string, { stanza: S; order: bigint; failures: number; dueTick: number }>();
  /** Journal rows of stored messages; without a tick they are kept until WhatsApp delivers nothing again. */
  readonly #stored = new Map<string, number | undefined>();
  /** Of messages whose receipt was sent and that core does not have. */
  readonly #receipted = new Set<string>();
  #lastSerial = 0;
  #waitingCount = 0;
  #waitingBytes = 0;
  #unstored = 0;
  #unstoredBytes = 0;
  #delivering = 0;
  /** Stanzas were dropped: those that had arrived by then are decrypted before the connection is ended. */
  #overflow: { lastSerial: number; left: number; isEnding: boolean } | undefined;

  /** @param lastOrder orders of new messages are above this one */
  constructor(lastOrder: bigint, limits = LIMITS) {
    this.#lastOrder = lastOrder;
    this.#limits = limits;
  }

  /** Bytes of stanzas to be decrypted and of messages that core does not have. */
  get bytes(): number {
    return this.#waitingBytes + this.#unstoredBytes;
  }

  /** Messages that were read and that core does not have. */
  get unstored(): number {
    return this.#unstored;
  }

  /** Slots of messages that are not read. */
  get openSlots(): number {
    let open = 0;
    for (const message of this.#messages.values()) if (!isRead(message)) open += 1;
    return open;
  }

  /** Use `inbound`. */
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
        this.#opened(event.durable);
        break;
      case 'logged-in':
        this.#offlineRuns();
        break;
      case 'closed':
        this.#closed();
        break;
      case 'offline-ended':
        if (!this.#overflow) this.#offlineEnded();
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
      case 'read':
        this.#read(event);
        break;
      case 'spent':
        this.#spent(event.stanza);
        break;
      case 'failed':
        this.#failed(event.stanza);
        break;
      case 'not-tried':
        this.#notTried(event.stanza);
        break;
      case 'committed':
        this.#commitDone(event.unit);
        break;
      case 'commit-failed':
        this.#commitFailed();
        break;
      case 'journalled':
        this.#journalled(event);
        break;
      case 'announced':
        this.#announced(event);
        break;
      case 'missing':
        this.#missing(event.stanza);
        break;
      case 'content':
        this.#contentCame(event);
        break;
      case 'stored':
      case 'refused':
        this.#ended(event.key, event.type === 'stored');
        break;
    }
  }

  // The connection

  #opened(durable: number): void {
    this.#durable = durable;
    this.#connection += 1;
    this.#isConnected = true;
    this.#offline = 'away';
    this.#overflow = undefined;
  }

  #offlineRuns(): void {
    if (this.#offline === 'over') return;
    this.#offline = 'running';
    this.#quietTicks = 0;
  }

  /** WhatsApp delivers again what has no receipt, and what is asked for may come with it. */
  #closed(): void {
    this.#isConnected = false;
    this.#offline = 'away';
    for (const chat of this.#turns) {
      chat.waiting = [];
      chat.waitingBytes = 0;
    }
    this.#turns.clear();
    this.#waitingCount = 0;
    this.#waitingBytes = 0;
    for (const message of this.#messages.values()) {
      message.arriving = 0;
      if (!isRead(message)) message.state = 'lost';
    }
    this.#asked.clear();
    // Receipts of the last seconds may be lost with the connection.
    for (const hash of this.#stored.keys()) this.#stored.set(hash, undefined);
    this.#receipted.clear();
    for (const chat of [...this.#chats.values()]) this.#discardIfIdle(chat);
  }

  #offlineEnded(): void {
    this.#offline = 'over';
    for (const chat of [...this.#chats.values()]) {
      this.#giveUpUnread(chat, (message) => message.state === 'lost');
    }
    for (const [hash, dueTick] of this.#stored) {
      if (dueTick === undefined) this.#stored.set(hash, this.#tick + KEEP_TICKS);
    }
  }

  #ticked(): void {
    this.#tick += 1;
    for (const message of [...this.#asked]) if (message.dueTick <= this.#tick) this.#release(message);
    for (const [key, { dueTick }] of [...this.#undecrypted]) {
      if (dueTick > this.#tick) break;
      this.#giveUpText(key);
    }
    if (this.#offline === 'running') {
      this.#quietTicks += 1;
      if (this.#quietTicks >= OFFLINE_QUIET_TICKS && !this.#overflow) this.#offlineEnded();
    }
    const due: string[] = [];
    for (const [hash, dueTick] of this.#stored) {
      if (dueTick === undefined || dueTick > this.#tick) continue;
      due.push(hash);
      if (due.length === MAX_FORGOTTEN) break;
    }
    if (due.length === 0) return;
    for (const hash of due) this.#stored.delete(hash);
    this.#effects.push({ type: 'forget', hashes: due });
  }

  // A stanza arrives

  #arrived(stanza: S): void {
    if (!this.#isConnected) return;
    if (stanza.isOffline) this.#offlineRuns();
    const live = this.#messages.get(stanza.key);
    this.#lastSerial += 1;
    const item = { stanza, connection: this.#connection, serial: this.#lastSerial };
    if (this.#readHashOf(stanza.key) === stanza.hash) {
      this.#readAgain({ ...item, order: 0n });
      return;
    }
    const chat = live ? live.chat : this.#chatOf(stanza.chat);
    // It would come before those that its chat lost.
    if (chat.shortConnection === this.#connection) {
      if (live) this.#lose(live);
      return;
    }
    const isKnownRead = live ? isRead(live) : (this.#seen.get(stanza.key)?.isRead ?? false);
    const message = live ?? (isKnownRead ? undefined : this.#reserve(chat, stanza.key, 'waiting'));
    if (message && !isRead(message)) {
      message.state = 'waiting';
      message.arriving += 1;
      this.#asked.delete(message);
    }
    const order = message?.order ?? this.#seen.get(stanza.key)?.order ?? 0n;
    this.#enqueue(chat, { ...item, order });
    while (this.bytes > this.#limits.maxBytes && this.#waitingCount > 0) this.#dropOne();
  }

  /** The same stanza again: its receipt was lost, or is not sent yet. */
  #readAgain(item: Waiting<S>): void {
    const live = this.#messages.get(item.stanza.key);
    const last = this.#committing.at(-1);
    if (live?.state === 'committing' && last) {
      this.#committing.push({ unit: last.unit, item, isContent: false });
      return;
    }
    this.#sendReceipts([item]);
  }

  #enqueue(chat: Chat<S, C>, item: Waiting<S>): void {
    let at = chat.waiting.length;
    // What was lost or asked for goes before what came later: its chat waits for it.
    while (at > 0 && (chat.waiting[at - 1]?.order ?? 0n) > item.order) at -= 1;
    chat.waiting.splice(at, 0, item);
    chat.waitingBytes += item.stanza.bytes;
    this.#waitingCount += 1;
    this.#waitingBytes += item.stanza.bytes;
    this.#turns.add(chat);
  }

  #dequeue(chat: Chat<S, C>, from: 'first' | 'last'): Waiting<S> | undefined {
    const item = from === 'first' ? chat.waiting.shift() : chat.waiting.pop();
    if (!item) return undefined;
    chat.waitingBytes -= item.stanza.bytes;
    this.#waitingCount -= 1;
    this.#waitingBytes -= item.stanza.bytes;
    // Its next turn is after the others'.
    this.#turns.delete(chat);
    if (chat.waiting.length > 0) this.#turns.add(chat);
    const overflow = this.#overflow;
    if (overflow && item.serial <= overflow.lastSerial) overflow.left -= 1;
    return item;
  }

  /** Drops the last stanza of the largest chat. Nobody acknowledged it: WhatsApp delivers it again. */
  #dropOne(): void {
    let largest: Chat<S, C> | undefined;
    for (const chat of this.#turns) {
      if (!largest || chat.waitingBytes > largest.waitingBytes) largest = chat;
    }
    const item = largest && this.#dequeue(largest, 'last');
    if (!largest || !item) return;
    largest.shortConnection = this.#connection;
    const message = this.#messages.get(item.stanza.key);
    if (message && !isRead(message)) {
      message.arriving -= 1;
      if (message.arriving === 0) {
        if (largest.slots.at(-1) === message) {
          largest.slots.pop();
          this.#leave(message, false);
        } else {
          message.state = 'lost';
        }
      }
    }
    if (this.#overflow) return;
    this.#overflow = { lastSerial: this.#lastSerial, left: this.#waitingCount, isEnding: false };
    this.#effects.push({ type: 'overflow' });
  }

  #endAfterOverflow(): void {
    const overflow = this.#overflow;
    if (!overflow || overflow.isEnding || !this.#isConnected) return;
    if (this.#decrypting || this.#committing.length > 0) return;
    const isDone = overflow.left <= 0 || !this.#eligible();
    if (!isDone) return;
    overflow.isEnding = true;
    // What is read and waits for a message that may never come must not fill the memory again.
    for (const chat of [...this.#chats.values()]) {
      if (chat.slots.some(isRead)) this.#giveUpUnread(chat, (message) => message.state !== 'waiting');
    }
    this.#effects.push({ type: 'disconnect' });
  }

  // Decryption

  #decryptNext(): void {
    while (!this.#decrypting) {
      const chat = this.#eligible();
      const item = chat && this.#dequeue(chat, 'first');
      if (!chat || !item) return;
      if (this.#readHashOf(item.stanza.key) === item.stanza.hash) {
        this.#endArrival(item);
        this.#readAgain(item);
        continue;
      }
      this.#decrypting = item;
      this.#effects.push({
        type: 'decrypt',
        stanza: item.stanza,
        order: item.order,
        behind: behindOf(chat, item.order),
        isContent: !this.#isMessageRead(item.stanza.key),
      });
    }
  }

  /** The next chat with a stanza that may be decrypted now. */
  #eligible(): Chat<S, C> | undefined {
    const isFull = this.#unstored >= this.#limits.maxUnstored;
    for (const chat of this.#turns) {
      // Ready messages of a chat may wait for a stanza, which is decrypted however many they are.
      if (!isFull || chat.slots[0]?.state === 'waiting') return chat;
    }
    return undefined;
  }

  #takeDecrypting(stanza: S): Waiting<S> | undefined {
    const item = this.#decrypting;
    if (item?.stanza !== stanza) return undefined;
    this.#decrypting = undefined;
    this.#endArrival(item);
    return item;
  }

  #endArrival(item: Waiting<S>): void {
    const message = this.#messages.get(item.stanza.key);
    if (message && item.connection === this.#connection && message.arriving > 0) message.arriving -= 1;
  }

  #read({ stanza, unit, content, bytes }: Extract<InboundEvent<S, C>, { type: 'read' }>): void {
    const item = this.#takeDecrypting(stanza);
    if (!item) return;
    const isKnownRead = this.#isMessageRead(stanza.key);
    this.#committing.push({ unit, item, isContent: !isKnownRead });
    if (!isKnownRead) {
      const message = this.#messages.get(stanza.key) ?? this.#reserveIn(stanza, item.order);
      this.#fill(message, 'committing', stanza.hash, content, bytes);
    }
    if (unit <= this.#durable) this.#commitDone(this.#durable);
  }

  #spent(stanza: S): void {
    const item = this.#takeDecrypting(stanza);
    if (!item) return;
    const message = this.#messages.get(stanza.key);
    if (this.#isOver(item)) {
      if (message) this.#lose(message);
      return;
    }
    this.#effects.push({ type: 'refuse', stanza });
    if (message && !isRead(message) && message.arriving === 0) {
      message.hash = stanza.hash;
      this.#release(message, true);
    }
  }

  #failed(stanza: S): void {
    const item = this.#takeDecrypting(stanza);
    if (!item) return;
    const message = this.#messages.get(stanza.key);
    if (this.#isOver(item)) {
      if (message) this.#lose(message);
      return;
    }
    if (this.#isMessageRead(stanza.key)) {
      this.#effects.push({ type: 'refuse', stanza });
      return;
    }
    this.#effects.push({ type: 'ask-retry', stanza });
    if (message) this.#ask(message);
    this.#countFailure(stanza, item.order);
  }

  #notTried(stanza: S): void {
    const item = this.#takeDecrypting(stanza);
    const message = item && this.#messages.get(stanza.key);
    if (message) this.#lose(message);
  }

  // Commit

  #commitDone(unit: number): void {
    if (unit > this.#durable) this.#durable = unit;
    const done: Waiting<S>[] = [];
    while (this.#committing[0] && this.#committing[0].unit <= this.#durable) {
      const pending = this.#committing.shift();
      if (!pending) break;
      done.push(pending.item);
      if (!pending.isContent) continue;
      const message = this.#messages.get(pending.item.stanza.key);
      if (message?.state !== 'committing') continue;
      if (message.content === undefined) {
        this.#release(message, true);
        continue;
      }
      message.state = 'ready';
      this.#advance(message.chat);
    }
    this.#sendReceipts(done);
  }

  #commitFailed(): void {
    for (const { item, isContent } of this.#committing.splice(0)) {
      const message = isContent ? this.#messages.get(item.stanza.key) : undefined;
      if (message?.state !== 'committing') continue;
      this.#unstored -= 1;
      this.#unstoredBytes -= message.bytes;
      message.hash = undefined;
      message.content = undefined;
      message.bytes = 0;
      message.state = message.arriving > 0 ? 'waiting' : 'lost';
    }
  }

  #sendReceipts(items: readonly Waiting<S>[]): void {
    const stanzas = items.filter((item) => !this.#isOver(item)).map((item) => item.stanza);
    if (stanzas.length === 0) return;
    for (const { key, hash } of stanzas) {
      if (this.#stored.has(hash)) this.#stored.set(hash, this.#tick + KEEP_TICKS);
      else if (this.#messages.get(key)?.hash === hash) this.#receipted.add(hash);
    }
    this.#effects.push({ type: 'receipts', stanzas });
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
      this.#effects.push({
        type: 'deliver',
        key: message.key,
        order: message.order,
        content: message.content,
      });
    }
  }

  #ended(key: string, isStored: boolean): void {
    const message = this.#messages.get(key);
    if (message?.state !== 'delivering') return;
    this.#delivering -= 1;
    const { hash } = message;
    if (hash && isStored)
      this.#stored.set(hash, this.#receipted.has(hash) ? this.#tick + KEEP_TICKS : undefined);
    if (hash) this.#receipted.delete(hash);
    this.#release(message, true);
  }

  // Messages that come another way, or not at all

  #journalled(event: Extract<InboundEvent<S, C>, { type: 'journalled' }>): void {
    const { stanza, order, content, bytes, behind } = event;
    if (order > this.#lastOrder) this.#lastOrder = order;
    if (this.#isMessageRead(stanza.key)) {
      // A further row of the same message is of no use.
      if (this.#readHashOf(stanza.key) !== stanza.hash) this.#stored.set(stanza.hash, undefined);
      return;
    }
    const chat = this.#chatOf(stanza.chat);
    for (const earlier of behind) {
      if (!this.#messages.has(earlier.key) && !this.#seen.has(earlier.key)) {
        this.#reserve(chat, earlier.key, 'lost', earlier.order);
      }
    }
    const message = this.#messages.get(stanza.key) ?? this.#reserve(chat, stanza.key, 'waiting', order);
    this.#fill(message, 'ready', stanza.hash, content, bytes);
    this.#advance(chat);
  }

  #announced({ key, chat }: { key: string; chat: string }): void {
    if (!this.#isConnected || this.#isMessageRead(key) || this.#messages.has(key)) return;
    this.#ask(this.#reserve(this.#chatOf(chat), key, 'asked'));
  }

  #missing(stanza: S): void {
    if (this.#isMessageRead(stanza.key)) return;
    const order =
      this.#messages.get(stanza.key)?.order ?? this.#seen.get(stanza.key)?.order ?? this.#nextOrder();
    if (!this.#messages.has(stanza.key))
      this.#remember(stanza.key, { order, hash: undefined, isRead: false });
    this.#countFailure(stanza, order);
  }

  #contentCame({ stanza, content, bytes }: { stanza: S; content: C; bytes: number }): void {
    if (this.#isMessageRead(stanza.key)) return;
    const order = this.#seen.get(stanza.key)?.order;
    const message = this.#messages.get(stanza.key) ?? this.#reserveIn(stanza, order);
    this.#fill(message, 'ready', undefined, content, bytes);
    this.#advance(message.chat);
  }

  #countFailure(stanza: S, order: bigint): void {
    const known = this.#undecrypted.get(stanza.key);
    if (known) {
      known.failures += 1;
      if (known.failures >= MAX_FAILURES) this.#giveUpText(stanza.key);
      return;
    }
    const dueTick = this.#tick + UNDECRYPTABLE_TICKS;
    this.#undecrypted.set(stanza.key, { stanza, order, failures: 1, dueTick });
    if (this.#undecrypted.size <= MAX_UNDECRYPTED) return;
    const [oldest] = this.#undecrypted.keys();
    if (oldest !== undefined) this.#giveUpText(oldest);
  }

  #giveUpText(key: string): void {
    const known = this.#undecrypted.get(key);
    if (!known) return;
    this.#undecrypted.delete(key);
    const message = this.#messages.get(key);
    if (message?.state === 'asked') this.#release(message);
    this.#effects.push({ type: 'undecryptable', stanza: known.stanza, order: known.order });
  }

  // Slots

  #isMessageRead(key: string): boolean {
    const message = this.#messages.get(key);
    return message ? isRead(message) : (this.#seen.get(key)?.isRead ?? false);
  }

  /** Hash of the stanza in which the message was read. */
  #readHashOf(key: string): string | undefined {
    const message = this.#messages.get(key);
    if (message) return isRead(message) ? message.hash : undefined;
    const seen = this.#seen.get(key);
    return seen?.isRead ? seen.hash : undefined;
  }

  /** Its connection is gone: nothing can be said to WhatsApp about it. */
  #isOver(item: Waiting<S>): boolean {
    return !this.#isConnected || item.connection !== this.#connection;
  }

  #nextOrder(): bigint {
    this.#lastOrder += 1n;
    return this.#lastOrder;
  }

  #chatOf(name: string): Chat<S, C> {
    const known = this.#chats.get(name);
    if (known) return known;
    const chat: Chat<S, C> = { name, slots: [], waiting: [], waitingBytes: 0, shortConnection: -1 };
    this.#chats.set(name, chat);
    return chat;
  }

  /** The chat's next slot; a message that had one before keeps its order. */
  #reserve(
    chat: Chat<S, C>,
    key: string,
    as: Message<S, C>['state'],
    order = this.#seen.get(key)?.order ?? this.#nextOrder(),
  ): Message<S, C> {
    const message: Message<S, C> = {
      key,
      order,
      chat,
      state: as,
      arriving: 0,
      hash: undefined,
      content: undefined,
      bytes: 0,
      dueTick: 0,
    };
    chat.slots.push(message);
    this.#messages.set(key, message);
    return message;
  }

  #reserveIn(stanza: S, order: bigint | undefined): Message<S, C> {
    return this.#reserve(this.#chatOf(stanza.chat), stanza.key, 'waiting', order);
  }

  #ask(message: Message<S, C>): void {
    if (isRead(message) || message.arriving > 0) return;
    message.state = 'asked';
    message.dueTick = this.#tick + RESEND_TICKS;
    this.#asked.add(message);
  }

  /** WhatsApp delivers it again. */
  #lose(message: Message<S, C>): void {
    if (isRead(message) || message.arriving > 0) return;
    message.state = 'lost';
    this.#asked.delete(message);
  }

  #fill(
    message: Message<S, C>,
    as: 'committing' | 'ready',
    hash: string | undefined,
    content: C | undefined,
    bytes: number,
  ): void {
    message.state = as;
    message.hash = hash;
    message.content = content;
    message.bytes = bytes;
    this.#unstored += 1;
    this.#unstoredBytes += bytes;
    this.#asked.delete(message);
    this.#undecrypted.delete(message.key);
  }

  /** Releases slots of messages that are not read. */
  #giveUpUnread(chat: Chat<S, C>, isGivenUp: (message: Message<S, C>) => boolean): void {
    const slots: Message<S, C>[] = [];
    for (const message of chat.slots) {
      if (isRead(message) || !isGivenUp(message)) slots.push(message);
      else this.#leave(message, false);
    }
    if (slots.length === chat.slots.length) return;
    chat.slots = slots;
    this.#advance(chat);
  }

  /** The message's slot is gone; those behind it go on. */
  #release(message: Message<S, C>, wasRead = false): void {
    const chat = message.chat;
    const at = chat.slots.indexOf(message);
    if (at >= 0) chat.slots.splice(at, 1);
    this.#leave(message, wasRead);
    this.#advance(chat);
  }

  #leave(message: Message<S, C>, wasRead: boolean): void {
    if (isRead(message)) {
      this.#unstored -= 1;
      this.#unstoredBytes -= message.bytes;
    }
    this.#messages.delete(message.key);
    this.#asked.delete(message);
    this.#remember(message.key, { order: message.order, hash: message.hash, isRead: wasRead });
  }

  #remember(key: string, known: { order: bigint; hash: string | undefined; isRead: boolean }): void {
    this.#seen.delete(key);
    this.#seen.set(key, known);
    if (this.#seen.size <= MAX_SEEN) return;
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined) this.#seen.delete(oldest);
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

function isRead<S, C>({ state }: Message<S, C>): boolean {
  return state === 'committing' || state === 'ready' || state === 'delivering';
}

function behindOf<S, C>(chat: Chat<S, C>, order: bigint): Earlier[] {
  const behind: Earlier[] = [];
  for (const message of chat.slots) {
    if (behind.length === MAX_BEHIND) break;
    if (message.order < order && !isRead(message)) behind.push({ key: message.key, order: message.order });
  }
  return behind;
}
