import { createHmac } from 'node:crypto';
import {
  type AuthenticationCreds,
  BufferJSON,
  proto,
  type SignalDataSet,
  type SignalDataTypeMap,
  type SignalKeyStore,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { CredentialsDamagedError } from '../../../core/errors.ts';
import type { JournalEntry, NewMessage } from '../../../core/ports/inbox.ts';
import { DAMAGED_VALUE, type KeyName, type KeyScope, type KeyStore } from '../../../core/ports/key-store.ts';
import { cleanText } from '../../../core/text.ts';
import { field } from '../messages/proto-values.ts';
import type { GroupCommit, StoredWrite } from './group-commit.ts';

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
 * The Signal keys of one account. Writes are visible immediately, and durable with their group commit. Reads use a bounded
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
  append(unit: KeyTransaction): number {
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

  /** Whether the store knows the session's sending chain as used up to its new position; the write is then visible immediately. */
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

/** libsignal's chain_type.js. */
const SENDING = 1;
/** The input of the HMAC that advances a chain (libsignal, session_cipher.js, `fillMessageKeys`). */
const ADVANCE = Buffer.from([2]);

/** A sending chain of a session, and the number of the last message key that was taken from it, from 0; -1: none. */
interface SendingPosition {
  chain: string;
  counter: number;
}

interface SendingChain {
  id: string;
  baseKey: string;
  session: { _chains: Record<string, unknown> };
  counter: number;
  key: string;
}

/** Where the sending chain of a serialised libsignal record is; undefined when it has none or another shape. */
export function sendingPosition(record: unknown): SendingPosition | undefined {
  const found = sendingChainOf(record);
  return found && { chain: found.id, counter: found.counter };
}

/**
 * The record with its sending chain advanced by `count` messages, and the position of that chain. A process that encrypts with
 * this record cannot use a message key that an earlier process took from the given one within `count` messages; the recipient
 * skips the keys that nobody used, as it does for messages that do not arrive. Undefined when there is no sending chain.
 * Workaround: refs/baileys-workarounds.md.
 */
export function withReserve(
  record: unknown,
  count: number,
): { record: unknown; reserve: SendingPosition } | undefined {
  const found = sendingChainOf(record);
  if (!found) return undefined;
  const { id, baseKey, session, counter } = found;
  let key = Buffer.from(found.key, 'base64');
  for (let step = 0; step < count; step++) key = createHmac('sha256', key).update(ADVANCE).digest();
  const reserve = { chain: id, counter: counter + count };
  const chainKey = { counter: reserve.counter, key: key.toString('base64') };
  const chain = { ...(session._chains[id] as object), chainKey };
  const advanced = { ...session, _chains: { ...session._chains, [id]: chain } };
  const sessions = field(record, '_sessions') as object;
  return { record: { ...(record as object), _sessions: { ...sessions, [baseKey]: advanced } }, reserve };
}

function sendingChainOf(record: unknown): SendingChain | undefined {
  const sessions = field(record, '_sessions');
  if (typeof sessions !== 'object' || sessions === null) return undefined;
  for (const [baseKey, session] of Object.entries(sessions)) {
    // libsignal encrypts with the first session that is not closed.
    if (field(field(session, 'indexInfo'), 'closed') !== -1) continue;
    const id = field(field(field(session, 'currentRatchet'), 'ephemeralKeyPair'), 'pubKey');
    const chain = typeof id === 'string' ? field(field(session, '_chains'), id) : undefined;
    const counter = field(field(chain, 'chainKey'), 'counter');
    const key = field(field(chain, 'chainKey'), 'key');
    if (field(chain, 'chainType') !== SENDING || typeof counter !== 'number' || typeof key !== 'string') {
      return undefined;
    }
    return { id: id as string, baseKey, session: session as SendingChain['session'], counter, key };
  }
  return undefined;
}

/** One written key; an undefined `value` deletes it. */
interface KeyWrite {
  category: string;
  keyId: string;
  value: unknown;
}

/** The writes of one Signal step: all of them become durable, or none. */
export class KeyTransaction {
  /** The plaintexts of the step: an advanced ratchet cannot decrypt them again. */
  journal: JournalEntry | undefined;
  /** What the inbox stores instead of `journal`, unless it cannot. */
  message: NewMessage | undefined;
  /** Set when a key could not be read: the unit is void, because the step may depend on that key. */
  storageError: unknown;
  /** The step encrypts: what it changes in a session is the position of the sending chain. */
  isEncryption = false;
  /** The step decrypts a stanza: when the database rejects the unit, the stanza ends and later units are stored. */
  isStanza = false;
  #writes = new Map<string, KeyWrite>();

  get writes(): Iterable<KeyWrite> {
    return this.#writes.values();
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0 && this.journal === undefined;
  }

  /** The write of this key; undefined when the step did not write it. */
  get(category: string, keyId: string): KeyWrite | undefined {
    return this.#writes.get(`${category} ${keyId}`);
  }

  set(data: SignalDataSet): void {
    for (const [category, values] of Object.entries(data)) {
      for (const [keyId, value] of Object.entries<unknown>(values ?? {})) {
        this.#writes.set(`${category} ${keyId}`, { category, keyId, value: value ?? undefined });
      }
    }
  }

  /** The writes so far, for `rollbackTo`. */
  savepoint(): ReadonlyMap<string, KeyWrite> {
    return new Map(this.#writes);
  }

  /** Removes the writes since the savepoint. */
  rollbackTo(savepoint: ReadonlyMap<string, KeyWrite>): void {
    this.#writes = new Map(savepoint);
  }
}

/** Categories whose values contain no bytes; the others go through Baileys' BufferJSON. */
const PLAIN_CATEGORIES = new Set(['session', 'lid-mapping', 'device-list', 'sender-key-memory']);

/** A key's value in its stored form. */
export function encodeKey(category: string, value: unknown): string {
  if (category === 'session') pruneSession(value);
  if (category === 'sender-key') return encodeSenderKey(value as Uint8Array);
  return PLAIN_CATEGORIES.has(category) ? JSON.stringify(value) : JSON.stringify(value, BufferJSON.replacer);
}

/**
 * Baileys passes a sender key as JSON in a form that its own reader (BufferJSON) does not recognize as bytes. The keys
 * of skipped messages would be useless, and every late group message undecryptable. This writes the form of the reader.
 */
function encodeSenderKey(value: Uint8Array): string {
  return JSON.stringify(JSON.parse(Buffer.from(value).toString()), BufferJSON.replacer);
}

/** The value of a stored key. @throws {SyntaxError} for a text that `encodeKey` did not write */
export function decodeKey<T extends keyof SignalDataTypeMap>(
  category: T,
  text: string,
): SignalDataTypeMap[T] {
  if (PLAIN_CATEGORIES.has(category)) return JSON.parse(text);
  if (category === 'sender-key') return Buffer.from(text) as Uint8Array as SignalDataTypeMap[T];
  const value = JSON.parse(text, BufferJSON.reviver);
  if (category !== 'app-state-sync-key') return value;
  const key: unknown = proto.Message.AppStateSyncKeyData.fromObject(value);
  return key as SignalDataTypeMap[T];
}

/** Whether a stored value has the shape of its category. */
export function isReadableKey(category: keyof SignalDataTypeMap, text: string): boolean {
  if (text === DAMAGED_VALUE) return false;
  try {
    const value: unknown = category === 'sender-key' ? JSON.parse(text) : decodeKey(category, text);
    if (category === 'session') return typeof field(value, '_sessions') === 'object';
    if (category === 'pre-key') return isKeyPair(value);
    if (category === 'sender-key') return Array.isArray(value);
    return value !== null && value !== undefined;
  } catch {
    return false;
  }
}

/** The stored form of credentials. */
export function encodeCreds(creds: AuthenticationCreds): string {
  return JSON.stringify(creds, BufferJSON.replacer);
}

/** The credentials of a stored form. @throws {CredentialsDamagedError} they cannot be read, or a key is missing */
export function decodeCreds(text: string): AuthenticationCreds {
  let creds: unknown;
  try {
    creds = JSON.parse(text, BufferJSON.reviver);
  } catch (cause) {
    throw new CredentialsDamagedError({ cause });
  }
  const keyPairs = ['noiseKey', 'pairingEphemeralKeyPair', 'signedIdentityKey'].map((name) =>
    field(creds, name),
  );
  keyPairs.push(field(field(creds, 'signedPreKey'), 'keyPair'));
  const isWhole = keyPairs.every(isKeyPair) && typeof field(creds, 'registrationId') === 'number';
  if (!isWhole) throw new CredentialsDamagedError();
  return creds as AuthenticationCreds;
}

function isKeyPair(value: unknown): boolean {
  return field(value, 'public') instanceof Uint8Array && field(value, 'private') instanceof Uint8Array;
}

/** libsignal's chain_type.js. */
const RECEIVING = 2;
/** Maximum of closed chains with keys of messages that did not arrive; the newest are kept. */
const MAX_CLOSED_CHAINS = 40;

interface StoredChain {
  chainType?: number;
  chainKey?: { key?: unknown };
  messageKeys?: Record<string, unknown>;
}

/**
 * Removes receiving chains that can decrypt nothing more (no chain key, no message keys) from a serialised libsignal
 * session, in place. libsignal does not remove them: each change of direction leaves about 100 bytes, and every message
 * copies all of them. A value of another shape is not changed. Workaround:
 * refs/baileys-workarounds.md.
 */
export function pruneSession(session: unknown): void {
  const entries = field(session, '_sessions');
  if (typeof entries !== 'object' || entries === null) return;
  for (const entry of Object.values(entries)) {
    const chains = field(entry, '_chains');
    if (typeof chains === 'object' && chains !== null) pruneChains(chains as Record<string, StoredChain>);
  }
}

function pruneChains(chains: Record<string, StoredChain>): void {
  const withMessageKeys: string[] = [];
  for (const [id, chain] of Object.entries(chains)) {
    if (chain.chainType !== RECEIVING || chain.chainKey?.key !== undefined) continue;
    if (Object.keys(chain.messageKeys ?? {}).length === 0) delete chains[id];
    else withMessageKeys.push(id);
  }
  for (const id of withMessageKeys.slice(0, Math.max(0, withMessageKeys.length - MAX_CLOSED_CHAINS)))
    delete chains[id];
}
