import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../core/access/caller.ts';
import { FailedKeys } from '../../core/access/failed-keys.ts';
import { isLoggedOccurrence } from '../../core/log-throttle.ts';
import type { ApiKeyStore, KeyLookup } from '../../core/ports/api-key-store.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { ConsoleSessions, SessionLookup } from '../../core/ports/console-sessions.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { hasHash, isSame, keyIdIn } from './key-text.ts';
import { adminKeyMac, isSessionToken, sessionTokenHash } from './session-cookie.ts';
import type { UserPresence } from './user-presence.ts';

export interface AccessDeps {
  /** WA2AI_API_KEY. Absent: wa2ai listens on loopback only, and without users a call without a key comes from this machine. */
  adminKey: string | undefined;
  keys: KeyLookup & Pick<ApiKeyStore, 'markUsed'>;
  sessions: SessionLookup & Pick<ConsoleSessions, 'markSeen'>;
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
   * The caller that sends this key, or none. A key of the API is checked at once: nobody can guess its 256 bits. The check
   * of any other key waits after failures of the address, because an operator chose the admin key.
   * @throws {StorageUnavailableError} the keys cannot be read; the admin key works all the same
   */
  async callerOf(key: string | undefined, from: Connection): Promise<Caller> {
    const { adminKey, presence } = this.#deps;
    const needsLogin = adminKey !== undefined || presence.hasUsers;
    const none: Caller = { kind: needsLogin ? 'stranger' : 'loopback' };
    if (key === undefined) return none;
    const id = keyIdIn(key);
    // Not a key of the API: without an admin key it means nothing.
    if (id === undefined && adminKey === undefined) return none;
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

  /** Whether it is the admin key, at once or, after failures of the address, later. Counts a wrong one. */
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
