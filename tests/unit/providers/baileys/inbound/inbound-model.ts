import { InboundState } from '../../../../../router/src/providers/baileys/inbound/inbound.ts';
import type {
  InboundEffect,
  InboundEvent,
  InboundStanza,
} from '../../../../../router/src/providers/baileys/inbound/inbound-events.ts';

/**
 * Kind of message: `corrupt` fails and is sent again on request, `lost` fails and is never sent again. Baileys handles and
 * acknowledges `unavailable`, which has no ciphertext and may come from the phone, and `foreign`, which it reads at once.
 */
export type Kind = 'plain' | 'corrupt' | 'lost' | 'key-only' | 'unavailable' | 'foreign';

interface Stanza extends InboundStanza {
  kind: Kind;
  serial: number;
}

interface Unit {
  unit: number;
  hash: string;
  /** Its message goes to core with the unit, not to the journal. */
  isDirect: boolean;
  row: { stanza: Stanza; order: bigint; behind: Array<{ key: string; order: bigint }> } | undefined;
}

type Effect = InboundEffect<Stanza, string>;

const LIMITS = { maxBytes: 60_000, maxUnstored: 4 };
const RESEND_TICKS = 5;
/** Content of Baileys is acknowledged, so it cannot be dropped: a fixed small estimate, as the runner's. */
const CONTENT_BYTES = 100;

/** Violated promises. */
class BrokenPromise extends Error {}

/**
 * A small model of WhatsApp, Signal, the group commit, the journal and core around the reducer: a stanza is redelivered
 * until it is acknowledged, a ciphertext can be decrypted once, and a crash keeps committed rows.
 */
export class InboundModel {
  /** Unacknowledged stanzas in the order of the server. */
  #queue: Stanza[] = [];
  #cursor = 0;
  #offlineEnd = 0;
  #isOpen = false;
  #isOfflineOver = false;
  /** A commit failed, and nothing is stored until the next connection. */
  #isStorageDown = false;
  #serial = 0;
  #state = new InboundState<Stanza, string>(0n, LIMITS);
  #decrypting: Extract<Effect, { type: 'decrypt' }> | undefined;
  #delivering: Array<Extract<Effect, { type: 'deliver' }>> = [];
  #asked: Stanza[] = [];
  /** Ciphertexts that Signal has decrypted: in units that are not durable yet, and in durable ones. */
  #read = new Set<string>();
  readonly #durable = new Set<string>();
  #units: Unit[] = [];
  #durableUnit = 0;
  #lastUnit = 0;
  readonly #journal = new Map<string, NonNullable<Unit['row']>>();
  #lastOrder = 0n;
  readonly #sent: Stanza[] = [];
  readonly inbox: string[] = [];
  readonly undecryptable = new Set<string>();
  readonly #failed = new Set<string>();
  #tick = 0;
  /** Failed messages that have not arrived again, with the tick of the request. */
  readonly #awaited = new Map<string, number>();
  /** Messages whose slot may have been given up: they may be delivered late. */
  readonly #late = new Set<string>();
  /** Failed messages of an earlier process, with the messages known to be behind them. */
  readonly #knownBehind = new Map<string, Set<string>>();
  /** Messages whose content the account's phone may send. */
  #atPhone: Stanza[] = [];
  /** Keys of messages in this process' memory alone: they came without a stanza that wa2ai decrypts. */
  readonly #inMemory = new Set<string>();
  readonly #byBaileys = new Set<string>();
  /** The buffer has been full over this connection: stanzas were dropped. */
  #hasOverflowed = false;
  /** Keys of messages that were not acknowledged at the end of a connection with a full buffer. */
  readonly #overflowed = new Set<string>();
  /** Keys of messages that may be lost: only in the memory of a process that ended, or not received before the unlink. */
  readonly #mayBeLost = new Set<string>();
  /** Keys of messages that core rejected. */
  readonly #rejected = new Set<string>();
  /** Recently acknowledged: the receipt may be lost with the connection. */
  #justAcknowledged: Stanza[] = [];
  /** Refused stanzas whose refusal waits in the write gate; it is lost with the connection. */
  #refusals: Stanza[] = [];

  /** A person writes. */
  write(chat: number, kind: Kind, bytes: number): void {
    this.#serial += 1;
    const key = `m${this.#serial}`;
    this.#queue.push(this.#stanza({ key, chat: `c${chat}`, kind, bytes }));
    const stanza = this.#queue.at(-1);
    if (stanza) this.#sent.push(stanza);
  }

  #stanza(given: Pick<Stanza, 'key' | 'chat' | 'kind' | 'bytes'>): Stanza {
    this.#serial += 1;
    return { ...given, serial: this.#serial, hash: `${given.key}/${this.#serial}`, isOffline: false };
  }

  open(): void {
    if (this.#isOpen || this.#units.length > 0) return;
    // A step that began before a failed commit ends before the next connection.
    if (this.#isStorageDown) this.failDecrypt();
    this.#isOpen = true;
    this.#isStorageDown = false;
    this.#isOfflineOver = false;
    this.#cursor = 0;
    this.#offlineEnd = this.#queue.at(-1)?.serial ?? 0;
    this.#give({ type: 'opened', durable: this.#durableUnit });
    this.#give({ type: 'logged-in' });
  }

  /** @param isLosing the last receipts are lost with the connection */
  close(isLosing = false): void {
    if (!this.#isOpen) return;
    if (isLosing) {
      this.#queue = [...this.#queue, ...this.#justAcknowledged].sort((a, b) => a.serial - b.serial);
    }
    this.#justAcknowledged = [];
    this.#refusals = [];
    this.#isOpen = false;
    if (this.#hasOverflowed) for (const { key } of this.#queue) this.#overflowed.add(key);
    this.#hasOverflowed = false;
    this.#give({ type: 'closed' });
  }

  /** The next stanza reaches the socket, or WhatsApp says that the offline batch is over. */
  deliver(): void {
    if (!this.#isOpen) return;
    const next = this.#queue.find(({ serial }) => serial > this.#cursor);
    if (!this.#isOfflineOver && (!next || next.serial > this.#offlineEnd)) {
      this.#isOfflineOver = true;
      for (const key of this.#awaited.keys()) this.#late.add(key);
      this.#give({ type: 'offline-ended' });
      return;
    }
    if (!next) return;
    this.#cursor = next.serial;
    if (next.kind === 'unavailable' || next.kind === 'foreign') {
      this.#drop(next);
      if (next.kind === 'foreign') this.#content(next);
      else this.#announce(next);
      return;
    }
    this.#awaited.delete(next.key);
    this.#give({ type: 'stanza', stanza: { ...next, isOffline: !this.#isOfflineOver } });
  }

  #announce(stanza: Stanza): void {
    this.#atPhone.push(stanza);
    if (!this.#awaited.has(stanza.key)) this.#awaited.set(stanza.key, this.#tick);
    this.#give({ type: 'announced', key: stanza.key, chat: stanza.chat });
  }

  /** Baileys has the content of a message. */
  #content(stanza: Stanza): void {
    this.#awaited.delete(stanza.key);
    this.#inMemory.add(stanza.key);
    this.#byBaileys.add(stanza.key);
    this.#give({
      type: 'content',
      stanza: { ...stanza, hash: '' },
      content: stanza.key,
      bytes: CONTENT_BYTES,
    });
  }

  /** @param hasContent the phone sends the content of a message that cannot be decrypted; otherwise it has none */
  phone(pick: number, hasContent: boolean): void {
    const unread = this.#sent.filter(({ key }) => this.#failed.has(key) && !this.#mayBeLost.has(key));
    const known = [...this.#atPhone, ...unread];
    const stanza = known[pick % Math.max(1, known.length)];
    // The phone's answer is queued at WhatsApp behind the messages before it.
    const isBehind = !this.#isOfflineOver || this.#queue.some(({ serial }) => serial > this.#cursor);
    if (!this.#isOpen || !stanza || isBehind) return;
    if (!hasContent) {
      this.#give({ type: 'missing', stanza: { ...stanza, hash: '' } });
      return;
    }
    this.#atPhone = this.#atPhone.filter(({ key }) => key !== stanza.key);
    this.#content(stanza);
  }

  /** The link ends: WhatsApp and the phone deliver nothing again. */
  unlink(): void {
    this.close();
    for (const { key } of [...this.#queue, ...this.#asked, ...this.#atPhone]) {
      this.#mayBeLost.add(key);
      this.#late.add(key);
    }
    for (const key of this.#failed) this.#mayBeLost.add(key);
    for (const key of this.#awaited.keys()) this.#late.add(key);
    this.#queue = [];
    this.#asked = [];
    this.#atPhone = [];
    this.#give({ type: 'unlinked' });
  }

  /** The service stops: core stores some of the messages that were delivered to it. */
  stop(stored: number): void {
    this.close();
    this.#give({ type: 'stopping' });
    for (let ended = 0; this.#delivering.length > 0; ended += 1) {
      if (ended < stored % 4) this.store(0);
      else {
        const [effect] = this.#delivering.splice(0, 1);
        if (effect) this.#give({ type: 'not-delivered', key: effect.key });
      }
      if (ended > 1_000) throw new BrokenPromise('the stop never ends');
    }
    this.crash();
  }

  /** Core rejects a message permanently. */
  reject(pick: number): void {
    const [effect] = this.#delivering.splice(pick % Math.max(1, this.#delivering.length), 1);
    if (!effect) return;
    this.#rejected.add(effect.key);
    this.#late.add(effect.key);
    this.#give({ type: 'delivered', key: effect.key, isStored: false });
  }

  /** An unacknowledged stanza arrives again over the same connection. */
  repeat(pick: number): void {
    const delivered = this.#queue.filter(({ serial }) => serial <= this.#cursor);
    const stanza = delivered[pick % Math.max(1, delivered.length)];
    if (this.#isOpen && stanza) this.#give({ type: 'stanza', stanza: { ...stanza } });
  }

  decrypt(): void {
    const effect = this.#decrypting;
    if (!effect) return;
    if (this.#isStorageDown) {
      this.failDecrypt();
      return;
    }
    this.#decrypting = undefined;
    const { stanza, order, behind, isContent, isNext } = effect;
    const { hash, kind } = stanza;
    const row = this.#journal.get(hash);
    if (this.#read.has(hash) && row) {
      this.#give({ type: 'decrypted', stanza, unit: 0, content: stanza.key, bytes: stanza.bytes });
    } else if (this.#read.has(hash) && this.inbox.includes(stanza.key)) {
      this.#give({ type: 'decrypted', stanza, unit: 0, content: stanza.key, bytes: 0 });
    } else if (this.#read.has(hash)) {
      this.#give({ type: 'not-read', stanza, why: 'spent' });
    } else if (kind === 'corrupt' || kind === 'lost') {
      this.#failed.add(stanza.key);
      this.#give({ type: 'not-read', stanza, why: 'failed' });
    } else {
      this.#read.add(hash);
      const isMessage = kind === 'plain';
      this.#lastUnit += 1;
      const row = isMessage && isContent ? { stanza, order, behind } : undefined;
      // Not every message can go to core directly.
      const isDirect = isNext && stanza.serial % 3 > 0;
      this.#units.push({ unit: this.#lastUnit, hash, row, isDirect });
      const content = isMessage ? stanza.key : undefined;
      this.#give({ type: 'decrypted', stanza, unit: this.#lastUnit, content, bytes: stanza.bytes });
    }
  }

  /** Storage fails while the stanza is decrypted; the connection is ended. */
  failDecrypt(): void {
    const effect = this.#decrypting;
    if (!effect) return;
    this.#decrypting = undefined;
    this.close();
    this.#give({ type: 'not-read', stanza: effect.stanza, why: 'not-attempted' });
  }

  /** @param isTaken core takes messages; otherwise they are stored in the journal */
  commit(isTaken = true): void {
    const stored = new Set<number>();
    for (const { unit, hash, row, isDirect } of this.#units.splice(0)) {
      this.#durable.add(hash);
      if (!row) continue;
      if (this.#keep(hash, row, isDirect && isTaken)) stored.add(unit);
      if (row.order > this.#lastOrder) this.#lastOrder = row.order;
    }
    this.#durableUnit = this.#lastUnit;
    for (const stanza of this.#refusals.splice(0)) this.#drop(stanza);
    this.#give({ type: 'committed', unit: this.#durableUnit, stored });
  }

  /** @returns whether core has the message of the row */
  #keep(hash: string, row: NonNullable<Unit['row']>, isDirect: boolean): boolean {
    if (!isDirect) this.#journal.set(hash, row);
    else if (!this.inbox.includes(row.stanza.key)) this.inbox.push(row.stanza.key);
    return isDirect;
  }

  /** @param isStored the database stored the units although the commit failed */
  failCommit(isStored: boolean): void {
    if (this.#units.length === 0) return;
    for (const { hash, row, isDirect } of this.#units.splice(0)) {
      if (!isStored) continue;
      this.#durable.add(hash);
      if (row) this.#keep(hash, row, isDirect);
    }
    this.#read = new Set(this.#durable);
    this.#durableUnit = this.#lastUnit;
    this.#isStorageDown = true;
    this.#give({ type: 'commit-failed' });
    this.close();
  }

  /** Core stores a message that was delivered to it. */
  store(pick: number): void {
    const [effect] = this.#delivering.splice(pick % Math.max(1, this.#delivering.length), 1);
    if (!effect) return;
    if (!this.inbox.includes(effect.content)) this.inbox.push(effect.content);
    this.#give({ type: 'delivered', key: effect.key, isStored: true });
  }

  /** A sender sends a requested message again. */
  resend(): void {
    const stanza = this.#asked.shift();
    if (!stanza || stanza.kind === 'lost') return;
    this.#queue.push(this.#stanza({ ...stanza, kind: 'plain' }));
  }

  tick(): void {
    // An offline batch does not pause for twenty seconds.
    if (this.#isOpen && !this.#isOfflineOver) this.deliver();
    this.#tick += 1;
    this.#justAcknowledged = [];
    for (const [key, asked] of this.#awaited) {
      if (this.#isOpen && this.#tick - asked >= RESEND_TICKS) this.#late.add(key);
    }
    this.#give({ type: 'tick' });
  }

  /** The process ends and the next one starts. */
  crash(): void {
    this.#isOpen = false;
    if (this.#hasOverflowed) for (const { key } of this.#queue) this.#overflowed.add(key);
    this.#hasOverflowed = false;
    this.#justAcknowledged = [];
    this.#refusals = [];
    const isDecrypted = (key: string) => this.inbox.includes(key) || this.#isJournalled(key);
    for (const key of this.#inMemory) if (!isDecrypted(key)) this.#mayBeLost.add(key);
    this.#inMemory.clear();
    for (const key of [...this.#failed, ...this.#atPhone.map((stanza) => stanza.key)]) {
      if (isDecrypted(key)) continue;
      this.#keepBehind(key);
      this.#awaited.set(key, this.#tick);
    }
    this.#isStorageDown = false;
    this.#units = [];
    this.#read = new Set(this.#durable);
    this.#decrypting = undefined;
    this.#delivering = [];
    this.#durableUnit = 0;
    this.#lastUnit = 0;
    this.#state = new InboundState(this.#lastOrder, LIMITS);
    const rows = [...this.#journal.values()].sort((a, b) => (a.order < b.order ? -1 : 1));
    for (const { stanza, order, behind } of rows) {
      const { key, bytes } = stanza;
      // Core may have a message and not be done with it.
      const isDone = this.inbox.includes(key) && order % 2n === 0n;
      if (isDone) this.#give({ type: 'done-before', stanza, order });
      else this.#give({ type: 'journalled', stanza, order, behind, content: key, bytes });
    }
  }

  #isJournalled(key: string): boolean {
    return [...this.#journal.values()].some(({ stanza }) => stanza.key === key);
  }

  #keepBehind(key: string): void {
    const behind = new Set<string>();
    for (const { stanza } of this.#journal.values()) {
      const isKnown = this.#knownBehind.get(key)?.has(stanza.key) ?? true;
      if (isKnown && !this.inbox.includes(stanza.key)) behind.add(stanza.key);
    }
    this.#knownBehind.set(key, behind);
  }

  /** Everything works from now on; afterwards no message may be open. */
  settle(): void {
    for (let round = 0; round < 200; round += 1) {
      this.commit();
      this.open();
      for (let step = 0; step < this.#queue.length + 2; step += 1) this.deliver();
      for (
        let step = 0;
        this.#decrypting || this.#delivering.length > 0 || this.#units.length > 0;
        step += 1
      ) {
        this.decrypt();
        this.commit();
        this.store(step);
        if (step > 10_000) throw new BrokenPromise('it never ends');
      }
      this.resend();
      for (const _ of [...this.#atPhone]) this.phone(0, true);
      this.tick();
    }
    this.#check();
  }

  #check(): void {
    if (this.#queue.length > 0) throw new BrokenPromise(`${this.#queue[0]?.key} is never acknowledged`);
    if (this.#state.openSlots > 0) throw new BrokenPromise('a chat waits for ever');
    if (this.#state.bytes > 0) throw new BrokenPromise(`${this.#state.bytes} bytes are left`);
    for (const { key, kind } of this.#sent) {
      if (this.#mayBeLost.has(key)) continue;
      const isRejected = this.#rejected.has(key);
      const isIn = this.inbox.includes(key) || isRejected;
      if (kind !== 'lost' && kind !== 'key-only' && !isIn) throw new BrokenPromise(`${key} is lost`);
      if (kind === 'lost' && !this.undecryptable.has(key) && !isIn) {
        // A crash loses the requests; WhatsApp has the refusal.
        if (!this.#failed.has(key)) throw new BrokenPromise(`${key} has no record`);
      }
    }
    const position = new Map(this.inbox.map((key, index) => [key, index]));
    for (const [index, later] of this.#sent.entries()) {
      for (const earlier of this.#sent.slice(0, index)) {
        if (earlier.chat !== later.chat || this.#late.has(earlier.key)) continue;
        // Baileys has acknowledged its content, so it is not dropped with the earlier stanzas of its chat.
        if (this.#overflowed.has(earlier.key) && this.#byBaileys.has(later.key)) continue;
        if (!(this.#knownBehind.get(earlier.key)?.has(later.key) ?? true)) continue;
        const [first, second] = [position.get(earlier.key), position.get(later.key)];
        if (first === undefined || second === undefined || first < second) continue;
        throw new BrokenPromise(`${later.key} came before ${earlier.key}`);
      }
    }
  }

  #give(event: InboundEvent<Stanza, string>): void {
    if (event.type === 'stanza' && this.#state.bytes + event.stanza.bytes > LIMITS.maxBytes)
      this.#hasOverflowed = true;
    const effects = this.#state.handle(event);
    const { bytes } = this.#state;
    if (bytes > 2 * LIMITS.maxBytes) throw new BrokenPromise(`${bytes} bytes in memory`);
    let isEnding = false;
    for (const effect of effects) {
      if (effect.type === 'disconnect') isEnding = true;
      else this.#perform(effect);
    }
    if (!isEnding) return;
    // The buffer is full of messages that wait for these.
    for (const key of this.#failed) this.#late.add(key);
    this.close();
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'decrypt':
        if (this.#decrypting) throw new BrokenPromise('two decryptions at a time');
        this.#decrypting = effect;
        break;
      case 'receipts':
        for (const stanza of effect.stanzas) this.#acknowledged(stanza);
        break;
      case 'ask-retry':
        this.#asked.push(effect.stanza);
        this.#awaited.set(effect.stanza.key, this.#tick);
        this.#drop(effect.stanza);
        break;
      case 'refuse':
        this.#refused(effect.stanza);
        break;
      case 'deliver':
        this.#delivered(effect);
        break;
      case 'undecryptable':
        this.undecryptable.add(effect.stanza.key);
        this.#late.add(effect.stanza.key);
        break;
      case 'forget':
        for (const hash of effect.hashes) this.#forget(hash);
        break;
    }
  }

  #acknowledged(stanza: Stanza): void {
    if (!this.#isOpen) throw new BrokenPromise('a receipt over a closed connection');
    if (!this.#durable.has(stanza.hash))
      throw new BrokenPromise(`receipt of ${stanza.key} before its commit`);
    const { key, kind } = stanza;
    const isStored = [...this.inbox, ...this.#rejected].includes(key) || this.#isJournalled(key);
    if (kind === 'plain' && !isStored) throw new BrokenPromise(`receipt of ${key}, which is only in memory`);
    this.#drop(stanza);
  }

  #refused(stanza: Stanza): void {
    const isKnown = [...this.#read].some((hash) => hash.startsWith(`${stanza.key}/`));
    // A stanza that failed was refused with the retry request.
    if (!isKnown && !this.#failed.has(stanza.key))
      throw new BrokenPromise(`${stanza.key} is refused and was never read`);
    // The write gate: a refusal is sent when all earlier units are durable.
    if (this.#units.length > 0) this.#refusals.push(stanza);
    else this.#drop(stanza);
  }

  #delivered(effect: Extract<Effect, { type: 'deliver' }>): void {
    const chatOf = (key: string) => this.#sent.find((stanza) => stanza.key === key)?.chat;
    const isBusy = this.#delivering.some((other) => chatOf(other.key) === chatOf(effect.key));
    if (isBusy) throw new BrokenPromise(`two messages of ${chatOf(effect.key)} at a time`);
    const isDurable = this.#isJournalled(effect.key) || this.inbox.includes(effect.key);
    if (!isDurable && !this.#inMemory.has(effect.key))
      throw new BrokenPromise(`${effect.key} is delivered before its commit`);
    this.#delivering.push(effect);
  }

  #forget(hash: string): void {
    const row = this.#journal.get(hash);
    const hasOther = [...this.#journal.values()].some(
      (one) => one !== row && one.stanza.key === row?.stanza.key,
    );
    if (row && !hasOther && !this.inbox.includes(row.stanza.key))
      throw new BrokenPromise(`${row.stanza.key} is forgotten`);
    this.#journal.delete(hash);
  }

  #drop(stanza: Stanza): void {
    this.#justAcknowledged.push(stanza);
    this.#queue = this.#queue.filter(({ serial }) => serial !== stanza.serial);
  }
}
