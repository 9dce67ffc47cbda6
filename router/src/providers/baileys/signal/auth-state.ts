import {
  type AuthenticationCreds,
  type AuthenticationState,
  BufferJSON,
  initAuthCreds,
  proto,
  type SignalDataSet,
  type SignalDataTypeMap,
  type SignalKeyStore,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { CredentialsDamagedError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { JournalEntry } from '../../../core/ports/journal.ts';
import {
  DAMAGED_VALUE,
  type KeyChange,
  type KeyScope,
  type KeyStore,
} from '../../../core/ports/key-store.ts';
import { field } from '../connection/disconnect-table.ts';
import { KeyWriter } from './key-writer.ts';
import { pruneSession } from './session-pruning.ts';

/**
 * Category under which the signal repository hands journal entries to `keys.set` inside its transaction, so that a
 * ratchet's step and the plaintext it gave are committed together. Never stored as a key.
 */
export const JOURNAL_CATEGORY = 'wa2ai-journal';

/**
 * Category under which a transaction leaves a `Durable` in `keys.set`: the call then resolves before the keys are
 * durable, and the promise says when they are. Later steps may build on them, nothing may be shown to WhatsApp.
 */
export const DURABLE_CATEGORY = 'wa2ai-durable';

/** Filled by `keys.set`; stays empty when there was nothing to store. */
export interface Durable {
  promise?: Promise<void>;
}

const CREDS = { category: 'creds', keyId: 'creds' };
const CACHE_MAX_CHARS = 32 * 1024 * 1024;
/** Categories whose values hold no bytes; the others go through Baileys' BufferJSON. */
const PLAIN_CATEGORIES = new Set(['session', 'lid-mapping', 'device-list', 'sender-key-memory']);

/** Baileys' authentication state over a KeyStore. */
export interface AuthState extends AuthenticationState {
  /**
   * To call before each connection: proves that the store answers, brings credentials that could not be saved to it,
   * and takes the half-known identity of a pairing that was not finished out of them, which WhatsApp would take for a
   * login with unknown keys.
   * @throws {StorageUnavailableError} do not connect
   */
  prepare(): Promise<void>;
  /** Saves the credentials as they are now; call on `creds.update`. One write at a time, the last wins. */
  saveCreds(): void;
  /** Resolves when every write asked for so far is durable or has failed. */
  flush(): Promise<void>;
  /** Linked to a phone: there is something to log in with. */
  isLinked(): boolean;
}

export interface AuthStateOptions {
  store: KeyStore;
  scope: KeyScope;
  clock: Clock;
  /** Called when the store did not answer: nothing may be acknowledged to WhatsApp or sent after it. */
  onStorageFailed(error: unknown): void;
  /** Called once for a stored key that cannot be read. It counts as absent, which Signal mends by itself. */
  onKeyUnreadable(category: string): void;
}

/**
 * Loads the credentials, or makes new ones, and gives Baileys a key store: write-through and awaited, with reads from a
 * bounded cache that knows absent keys too. The one user of the account's keys is this process, so the cache is never
 * stale.
 * @throws {StorageUnavailableError} the credentials could not be read now
 * @throws {CredentialsDamagedError} they can never be read
 */
export async function openAuthState(options: AuthStateOptions): Promise<AuthState> {
  const { store, scope } = options;
  const stored = (await store.read(scope, CREDS.category, [CREDS.keyId])).get(CREDS.keyId);
  const creds = stored === undefined ? initAuthCreds() : decodeCreds(stored);
  const writer = new KeyWriter(store, scope, options.clock);
  const cache = createCache();
  /** Written and not yet durable; newer than the cache. */
  const pending = new Map<string, { text: string | undefined }>();
  let credsDirty = false;
  let credsSaving: Promise<void> | undefined;
  let isSavingCreds = false;

  const reporting = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      options.onStorageFailed(error);
      throw error;
    }
  };

  const knownOf = (key: string) => pending.get(key) ?? cache.get(key);

  /** Reads see the change at once; the cache keeps it when it is durable, and forgets it when it never will be. */
  const write = async (change: KeyChange): Promise<void> => {
    const written = new Map<string, { text: string | undefined }>();
    for (const { category, keyId } of change.deletes)
      written.set(cacheKey(category, keyId), { text: undefined });
    for (const { category, keyId, value } of change.puts)
      written.set(cacheKey(category, keyId), { text: value });
    const durable = writer.write(change);
    for (const [key, value] of written) pending.set(key, value);
    try {
      await durable;
      for (const [key, value] of written) cache.set(key, value);
    } finally {
      for (const [key, value] of written) if (pending.get(key) === value) pending.delete(key);
    }
  };

  const saveUntilClean = async (): Promise<void> => {
    isSavingCreds = true;
    try {
      while (credsDirty) {
        credsDirty = false;
        const value = JSON.stringify(creds, BufferJSON.replacer);
        await reporting(writer.write({ puts: [{ ...CREDS, value }], deletes: [], journal: [] }));
      }
    } catch {
      // Reported; `prepare` saves them before the next connection.
      credsDirty = true;
    } finally {
      // In the same step that found them clean: who changes them next begins anew.
      isSavingCreds = false;
    }
  };

  const saveCreds = (): void => {
    credsDirty = true;
    if (!isSavingCreds) credsSaving = saveUntilClean();
  };

  /** What the store gave for a key, unless it is no such key's value. */
  const readable = (category: keyof SignalDataTypeMap, text: string | undefined): string | undefined => {
    if (text === undefined || isReadable(category, text)) return text;
    options.onKeyUnreadable(category);
    return undefined;
  };

  const keys: SignalKeyStore = {
    async get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
      const found: { [id: string]: SignalDataTypeMap[T] } = {};
      const missing: string[] = [];
      for (const id of ids) {
        const known = knownOf(cacheKey(type, id));
        if (!known) missing.push(id);
        else if (known.text !== undefined) found[id] = decode(type, known.text);
      }
      if (missing.length === 0) return found;
      const read = await reporting(store.read(scope, type, missing));
      for (const id of missing) {
        // A write that began meanwhile is newer than what was read.
        const newer = knownOf(cacheKey(type, id));
        const text = newer ? newer.text : readable(type, read.get(id));
        if (!newer) cache.set(cacheKey(type, id), { text });
        if (text !== undefined) found[id] = decode(type, text);
      }
      return found;
    },
    async set(data) {
      // New pre-keys must not be in use before the counter that numbers them is safe.
      if (hasPuts(data['pre-key'])) await credsSaving;
      const { durables, ...change } = changeOf(data);
      if (change.puts.length + change.deletes.length + change.journal.length === 0) return;
      const durable = reporting(write(change));
      if (durables.length === 0) return durable;
      // Whoever asked for the promise handles its failure; here it must not count as unhandled.
      durable.catch(() => undefined);
      for (const waiting of durables) waiting.promise = durable;
    },
  };

  return {
    creds,
    keys,
    saveCreds,
    isLinked: () => Boolean(creds.account),
    async prepare() {
      if (!creds.account) {
        creds.me = undefined;
        creds.pairingCode = undefined;
        creds.registered = false;
      }
      await store.read(scope, CREDS.category, [CREDS.keyId]);
      await writer.recover();
      if (!credsDirty) return;
      saveCreds();
      await credsSaving;
    },
    async flush() {
      await credsSaving;
      await writer.settled();
    },
  };
}

function createCache(): LRUCache<string, { text: string | undefined }> {
  return new LRUCache({
    maxSize: CACHE_MAX_CHARS,
    sizeCalculation: (value: { text: string | undefined }, key: string) =>
      key.length + (value.text?.length ?? 0) + 50,
  });
}

function hasPuts(values: Record<string, unknown> | undefined): boolean {
  return values !== undefined && Object.values(values).some((value) => value !== null && value !== undefined);
}

function changeOf(data: SignalDataSet): KeyChange & { durables: Durable[] } {
  const change: KeyChange & { durables: Durable[] } = { puts: [], deletes: [], journal: [], durables: [] };
  for (const [category, values] of Object.entries(data)) {
    if (category === DURABLE_CATEGORY) {
      change.durables.push(...Object.values<Durable>(values as Record<string, Durable>));
      continue;
    }
    if (category === JOURNAL_CATEGORY) {
      change.journal.push(...Object.values<JournalEntry>(values as Record<string, JournalEntry>));
      continue;
    }
    for (const [keyId, value] of Object.entries<unknown>(values ?? {})) {
      if (value === null || value === undefined) change.deletes.push({ category, keyId });
      else change.puts.push({ category, keyId, value: encode(category, value) });
    }
  }
  return change;
}

function encode(category: string, value: unknown): string {
  if (category === 'session') pruneSession(value);
  if (category === 'sender-key') return encodeSenderKey(value as Uint8Array);
  return PLAIN_CATEGORIES.has(category) ? JSON.stringify(value) : JSON.stringify(value, BufferJSON.replacer);
}

/**
 * Baileys hands a sender key over as JSON in a form that its own reader (BufferJSON) does not take for bytes, so the kept
 * keys of skipped messages would be useless, and every late group message undecryptable. Here it is in the reader's form.
 */
function encodeSenderKey(value: Uint8Array): string {
  return JSON.stringify(JSON.parse(Buffer.from(value).toString()), BufferJSON.replacer);
}

function decode<T extends keyof SignalDataTypeMap>(category: T, text: string): SignalDataTypeMap[T] {
  if (PLAIN_CATEGORIES.has(category)) return JSON.parse(text);
  if (category === 'sender-key') return Buffer.from(text) as Uint8Array as SignalDataTypeMap[T];
  const value = JSON.parse(text, BufferJSON.reviver);
  if (category !== 'app-state-sync-key') return value;
  const key: unknown = proto.Message.AppStateSyncKeyData.fromObject(value);
  return key as SignalDataTypeMap[T];
}

/** @throws {CredentialsDamagedError} */
function decodeCreds(text: string): AuthenticationCreds {
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

/** Whether a stored value is one of its category, as far as its form tells. */
function isReadable(category: keyof SignalDataTypeMap, text: string): boolean {
  if (text === DAMAGED_VALUE) return false;
  try {
    const value: unknown = category === 'sender-key' ? JSON.parse(text) : decode(category, text);
    if (category === 'session') return typeof field(value, '_sessions') === 'object';
    if (category === 'pre-key') return isKeyPair(value);
    if (category === 'sender-key') return Array.isArray(value);
    return value !== null && value !== undefined;
  } catch {
    return false;
  }
}

function isKeyPair(value: unknown): boolean {
  return field(value, 'public') instanceof Uint8Array && field(value, 'private') instanceof Uint8Array;
}

function cacheKey(category: string, keyId: string): string {
  return `${category} ${keyId}`;
}
