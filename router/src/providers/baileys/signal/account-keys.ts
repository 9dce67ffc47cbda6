import type { SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { cleanText } from '../../../core/clean-text.ts';
import type { KeyName, KeyScope, KeyStore } from '../../../core/ports/key-store.ts';
import type { GroupCommit, StoredWrite } from './group-commit.ts';
import { decodeKey, encodeKey, isReadableKey } from './key-encoding.ts';
import { type SendingPosition, sendingPosition, withReserve } from './sending-reserve.ts';
import type { KeyWrite, Unit } from './unit.ts';

const CACHE_MAX_CHARS = 32 * 1024 * 1024;
/**
 * Messages that a session can encrypt without another write. A reply to what was just received needs one or a few; an own
 * device, which writes seldom, needs one for each message that is sent. The recipient computes that many keys after a crash.
 */
const RESERVED = { afterDecryption: 8, afterEncryption: 32 };

/** An index entry of PostgreSQL has at most 2,704 bytes, and this is one of its four columns. */
const MAX_KEY_ID_BYTES = 1_000;

/** A key's text; undefined for an absent key. */
interface Known {
  text: string | undefined;
  /** Of a session: up to here the store knows its sending chain as used. */
  reserve?: SendingPosition | undefined;
}

export interface AccountKeysOptions {
  store: KeyStore;
  scope: KeyScope;
  commits: GroupCommit;
  /** The store failed: nothing may be acknowledged to WhatsApp or sent. */
  onStorageFailed(error: unknown): void;
  /** Called for a stored key that cannot be read. It is treated as absent, which Signal repairs. */
  onKeyUnreadable(category: string): void;
}

/**
 * The Signal keys of one account. Writes are visible at once, and durable with their group commit. Reads use a bounded
 * cache, which also contains absent keys. This process is the only user of the keys, so the cache is never stale.
 *
 * Peers and WhatsApp choose parts of the names. A key whose name PostgreSQL cannot store is always absent: it is neither
 * read nor written.
 */
export class AccountKeys implements Pick<SignalKeyStore, 'get'> {
  readonly #options: AccountKeysOptions;
  readonly #cache = new LRUCache<string, Known>({
    maxSize: CACHE_MAX_CHARS,
    sizeCalculation: ({ text }, name) => name.length + (text?.length ?? 0) + 50,
  });
  /** Writes that are not durable; they are newer than the cache and the store. */
  readonly #pending = new Map<string, Known & { unit: number }>();
  /** Reads of one iteration of the event loop, which use one query. */
  #requested: { names: Map<string, KeyName>; done: Promise<void> } | undefined;
  readonly #reading = new Map<string, Promise<void>>();

  constructor(options: AccountKeysOptions) {
    this.#options = options;
    options.commits.listen({
      durable: (unit) => this.#settle(unit),
      failed: (error) => {
        // Values that were read meanwhile may depend on a void write.
        this.#pending.clear();
        this.#cache.clear();
        options.onStorageFailed(error);
      },
      rejected: (unit) => this.#drop(unit),
    });
  }

  /** @throws {StorageUnavailableError} */
  async get<T extends keyof SignalDataTypeMap>(
    category: T,
    keyIds: string[],
  ): Promise<{ [keyId: string]: SignalDataTypeMap[T] }> {
    const names = keyIds.map((keyId) => ({ category, keyId }));
    await this.warm(names);
    // No prototype: a key may be named `__proto__`.
    const found: { [keyId: string]: SignalDataTypeMap[T] } = Object.create(null);
    for (const keyId of keyIds) {
      if (!isStorable(keyId)) continue;
      // An entry may be evicted between its read and now when there are many.
      const known = this.#known({ category, keyId }) ?? (await this.#readOne({ category, keyId }));
      if (known?.text !== undefined) found[keyId] = decodeKey(category, known.text);
    }
    return found;
  }

  /**
   * Loads the keys that are not in memory. All calls in one iteration of the event loop use one query.
   * @throws {StorageUnavailableError}
   */
  async warm(names: readonly KeyName[]): Promise<void> {
    const reads = new Set<Promise<void>>();
    for (const name of names) {
      if (this.#known(name) || !isStorable(name.keyId)) continue;
      reads.add(this.#reading.get(nameOf(name)) ?? this.#request(name));
    }
    if (reads.size > 0) await Promise.all(reads);
  }

  /**
   * Appends the unit's writes and journal row to the group commit, in the order of calls. A session is stored with its sending
   * chain advanced, so that the next encryptions need no write: a process that reads it skips their keys.
   * @returns the unit's number; 0 when nothing must be stored
   * @throws {StorageUnavailableError} an earlier unit could not be stored, so this one is void
   */
  append(unit: Unit): number {
    const stored: StoredWrite[] = [];
    const known: Array<[name: string, known: Known]> = [];
    for (const write of unit.writes) {
      const { category, keyId, value } = write;
      if (!isStorable(keyId) || (unit.isEncryption && this.#isReserved(write))) continue;
      const text = value === undefined ? undefined : encodeKey(category, value);
      const count = unit.isEncryption ? RESERVED.afterEncryption : RESERVED.afterDecryption;
      const reserved = category === 'session' && value !== undefined ? withReserve(value, count) : undefined;
      stored.push({ category, keyId, value: reserved ? encodeKey(category, reserved.record) : text });
      known.push([nameOf(write), { text, reserve: reserved?.reserve }]);
    }
    if (stored.length === 0 && !unit.journal) return 0;
    const number = this.#options.commits.append(stored, unit);
    for (const [name, { text, reserve }] of known) this.#pending.set(name, { text, reserve, unit: number });
    return number;
  }

  /** Whether the store knows the session's sending chain as used up to its new position; the write is then visible at once. */
  #isReserved(write: KeyWrite): boolean {
    const { category, value } = write;
    const known = this.#known(write);
    const position = known?.reserve && sendingPosition(value);
    if (!known?.reserve || position?.chain !== known.reserve.chain) return false;
    if (position.counter > known.reserve.counter) return false;
    known.text = encodeKey(category, value);
    return true;
  }

  #known(name: KeyName): Known | undefined {
    return this.#pending.get(nameOf(name)) ?? this.#cache.get(nameOf(name));
  }

  #settle(unit: number): void {
    for (const [name, known] of this.#pending) {
      if (known.unit > unit) continue;
      this.#pending.delete(name);
      this.#cache.set(name, { text: known.text, reserve: known.reserve });
    }
  }

  /** The store has the earlier values of what the unit wrote. */
  #drop(unit: number): void {
    for (const [name, known] of this.#pending) if (known.unit === unit) this.#pending.delete(name);
  }

  #request(name: KeyName): Promise<void> {
    this.#requested ??= {
      names: new Map(),
      done: new Promise((resolve) => setImmediate(resolve)).then(() => this.#readRequested()),
    };
    this.#requested.names.set(nameOf(name), name);
    this.#reading.set(nameOf(name), this.#requested.done);
    return this.#requested.done;
  }

  async #readRequested(): Promise<void> {
    const names = this.#requested?.names ?? new Map<string, KeyName>();
    this.#requested = undefined;
    try {
      await this.#read([...names.values()]);
    } finally {
      for (const name of names.keys()) this.#reading.delete(name);
    }
  }

  async #readOne(name: KeyName): Promise<Known | undefined> {
    const [read] = await this.#read([name]);
    return this.#known(name) ?? read;
  }

  async #read(names: readonly KeyName[]): Promise<Known[]> {
    const { store, scope, onStorageFailed, onKeyUnreadable } = this.#options;
    let values: Map<string, string>;
    try {
      values = new Map((await store.read(scope, names)).map((key) => [nameOf(key), key.value]));
    } catch (error) {
      onStorageFailed(error);
      throw error;
    }
    return names.map((name) => {
      let text = values.get(nameOf(name));
      if (text !== undefined && !isReadableKey(name.category as keyof SignalDataTypeMap, text)) {
        onKeyUnreadable(name.category);
        text = undefined;
      }
      // A write during the read is newer.
      if (!this.#known(name)) this.#cache.set(nameOf(name), { text });
      return { text };
    });
  }
}

/** Without NUL and halves of surrogate pairs, and short enough for an index. */
function isStorable(keyId: string): boolean {
  return keyId === cleanText(keyId) && Buffer.byteLength(keyId) <= MAX_KEY_ID_BYTES;
}

function nameOf({ category, keyId }: KeyName): string {
  return `${category} ${keyId}`;
}
