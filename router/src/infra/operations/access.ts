import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../core/access/caller.ts';
import { FailedKeys } from '../../core/access/failed-attempts.ts';
import type { Clock } from '../../core/clock.ts';
import { isLoggedOccurrence, type Logger } from '../../core/logger.ts';
import type { ConsoleSessions, ConsoleUsers } from '../../core/ports/access.ts';
import type { ApiKeyStore } from '../../core/ports/api-key-store.ts';
import { adminKeyMac, isSessionToken, sessionTokenHash } from './session-cookie.ts';

interface AccessDeps {
  /** WA2AI_API_KEY. Absent: wa2ai listens on loopback only, and without users a call without a key comes from this machine. */
  adminKey: string | undefined;
  keys: Pick<ApiKeyStore, 'find' | 'markUsed'>;
  sessions: Pick<ConsoleSessions, 'find' | 'byId' | 'markSeen'>;
  presence: Pick<UserPresence, 'hasUsers'>;
  clock: Clock;
  log: Logger;
}

/** Where a key comes from. */
export interface Connection {
  /** Of the caller, or of the proxy before it. */
  address: string;
  /** Emits `close`. Keys of one connection are checked one at a time. */
  socket: {
    once(event: 'close', listener: () => void): unknown;
    off(event: 'close', listener: () => void): unknown;
  };
}

/** Determines who calls, for every protocol spoken to wa2ai. */
export class Access {
  readonly #deps: AccessDeps;
  readonly #failures: FailedKeys;
  /** Connections whose key waits for its check. */
  readonly #waiting = new WeakSet<object>();

  constructor(deps: AccessDeps) {
    this.#deps = deps;
    this.#failures = new FailedKeys(() => deps.clock.monotonicMs());
  }

  /**
   * The caller that sends this key, or none. A key of the API is checked immediately: nobody can guess its 256 bits. The check
   * of any other key waits after failures of the address, because an operator chose the admin key.
   * @throws {StorageUnavailableError} the keys cannot be read; the admin key works all the same
   */
  async callerOf(key: string | undefined, from: Connection): Promise<Caller> {
    const { adminKey, presence } = this.#deps;
    const needsLogin = adminKey !== undefined || presence.hasUsers;
    const none: Caller = { kind: needsLogin ? 'stranger' : 'loopback' };
    if (key === undefined) return none;
    const id = keyIdIn(key);
    const known = id === undefined ? undefined : await this.#callerOfId(id, key);
    if (known?.kind === 'key') return known;
    if (await this.isAdminKey(key, from)) return { kind: 'admin-key' };
    return known ?? { kind: 'stranger', refusal: 'unknown' };
  }

  /**
   * The browser whose cookie has this token; undefined when its session has ended, or began with another admin key.
   * @throws {StorageUnavailableError} the sessions cannot be read
   */
  async callerOfSession(token: string): Promise<Extract<Caller, { kind: 'session' }> | undefined> {
    const { adminKey, sessions, clock, log } = this.#deps;
    if (!isSessionToken(token)) return undefined;
    const found = await sessions.find(sessionTokenHash(token));
    if (!found || found.expiresAt.getTime() <= clock.now()) return undefined;
    const { id, user } = found;
    if (!user && !isOfAdminKey(found.adminKeyMac, adminKey, token)) return undefined;
    sessions.markSeen(id).catch((error: unknown) => log.debug({ err: error }, 'session use not recorded'));
    return { kind: 'session', session: { id, ...(user && { user }) } };
  }

  /** Whether it is the admin key, immediately or, after failures of the address, later. Counts a wrong one. */
  async isAdminKey(key: string, from: Connection): Promise<boolean> {
    const { adminKey, log } = this.#deps;
    if (adminKey !== undefined && (await this.#mayCheck(from)) && isSame(key, adminKey)) return true;
    const failures = this.#failures.count(from.address);
    if (isLoggedOccurrence(failures)) log.warn({ address: from.address, failures }, 'wrong key');
    return false;
  }

  async #callerOfId(id: string, text: string): Promise<Caller> {
    const { keys, clock, log } = this.#deps;
    const stored = await keys.find(id);
    if (!stored || !hasHash(text, stored.secretHash)) return { kind: 'stranger', refusal: 'unknown' };
    const { secretHash: _hash, ...key } = stored;
    if (key.expiresAt && key.expiresAt.getTime() <= clock.now()) {
      return { kind: 'stranger', refusal: 'expired' };
    }
    keys.markUsed(id).catch((error: unknown) => log.debug({ err: error, keyId: id }, 'key use not recorded'));
    return { kind: 'key', key };
  }

  /**
   * Waits as long as the failures of the address require.
   * @returns false without a check: the connection is closed, or another key of it waits. A caller who sends many keys at
   *   once would otherwise have them all checked after one wait.
   */
  async #mayCheck({ address, socket }: Connection): Promise<boolean> {
    const delayMs = this.#failures.delayMs(address);
    if (delayMs === 0) return true;
    if (this.#waiting.has(socket)) return false;
    const gone = new AbortController();
    const onClose = () => gone.abort();
    this.#waiting.add(socket);
    socket.once('close', onClose);
    try {
      await this.#deps.clock.sleep(delayMs, gone.signal);
      return true;
    } catch {
      return false;
    } finally {
      this.#waiting.delete(socket);
      socket.off('close', onClose);
    }
  }
}

function isOfAdminKey(mac: Uint8Array | undefined, adminKey: string | undefined, token: string): boolean {
  if (mac === undefined || adminKey === undefined) return false;
  const expected = adminKeyMac(adminKey, token);
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

/** Bytes of a key's secret: 256 bits. */
const SECRET_BYTES = 32;
const ID_BYTES = 6;
const KEY_TEXT = /^wa2ai_([0-9a-f]{12})_[\w-]{43}$/;

/** A new key: its text, which is shown once, and what is stored of it. */
export function newKey(id: string = randomBytes(ID_BYTES).toString('hex')): {
  id: string;
  text: string;
  secretHash: Buffer;
} {
  const text = `${prefixOf(id)}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  return { id, text, secretHash: hashOf(text) };
}

/** The id of the key that calls with this `repeatId` create. */
export function keyIdOf(repeatId: string): string {
  return createHash('sha256')
    .update(repeatId)
    .digest('hex')
    .slice(0, 2 * ID_BYTES);
}

/** The visible start of a key, by which an operator recognizes it. It is not part of the secret. */
export function prefixOf(id: string): string {
  return `wa2ai_${id}`;
}

/** The id in the text of a key; undefined if the text is not a key of the API. */
export function keyIdIn(text: string): string | undefined {
  return KEY_TEXT.exec(text)?.[1];
}

/**
 * SHA-256 of a key. A slow hash with a salt protects passwords, which people choose and repeat. These 256 bits are
 * random: nobody can guess them from the hash, and the fast hash keeps requests fast.
 */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Whether the text equals the secret. The time does not depend on where they differ. */
export function isSame(given: string, secret: string): boolean {
  return hasHash(given, hashOf(secret));
}

/** Whether the text has this hash. The time does not depend on where they differ. */
export function hasHash(text: string, hash: Uint8Array): boolean {
  return hash.length === 32 && timingSafeEqual(hashOf(text), hash);
}

/** A node that missed the notification of the first user notices it with the second call after this time. */
const MAX_AGE_MS = 1_000;

interface UserPresenceDeps {
  users: Pick<ConsoleUsers, 'hasAny'>;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

/**
 * Whether the console has users: calls of this machine need a login then. Every request asks, so the answer is the last
 * one that is known. Before the first one, and so while nothing is known, it is that there are users.
 */
export class UserPresence {
  readonly #deps: UserPresenceDeps;
  #hasUsers = true;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(deps: UserPresenceDeps) {
    this.#deps = deps;
  }

  /** The last known answer. Reads again in the background when it is old. */
  get hasUsers(): boolean {
    if (this.#deps.clock.monotonicMs() - this.#readAtMs > MAX_AGE_MS) void this.refresh();
    return this.#hasUsers;
  }

  /** Reads again: at the start, and when users have changed. Keeps the last answer when it cannot be read; never rejects. */
  async refresh(): Promise<void> {
    // A read that runs may have begun before the change.
    await this.#reading;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    this.#readAtMs = this.#deps.clock.monotonicMs();
    try {
      this.#hasUsers = await this.#deps.users.hasAny();
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'users not read');
    }
  }
}
