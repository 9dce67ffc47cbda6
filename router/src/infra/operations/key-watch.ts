import type { Caller } from '../../core/access/caller.ts';
import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { ConsoleSessions } from '../../core/ports/access.ts';
import type { ApiKeyStore } from '../../core/ports/api-key-store.ts';

/** Between two checks: a notification may be lost, and a key may expire. */
export const CHECK_EVERY_MS = 5_000;

interface KeyWatchDeps {
  keys: Pick<ApiKeyStore, 'find'>;
  sessions: Pick<ConsoleSessions, 'byId'>;
  clock: Clock;
  log: Logger;
}

/** A key or a session that is watched. */
interface Watched {
  ends: Set<() => void>;
  isValid(): Promise<boolean>;
}

/**
 * Ends what runs for a key of the API or a session of the console, such as a stream, when the key is revoked or expires, or
 * the session ends or its user gets another role. While the keys cannot be read, everything continues.
 */
export class KeyWatch {
  readonly #deps: KeyWatchDeps;
  /** By the key or session, and the role of the session. */
  readonly #watched = new Map<string, Watched>();
  readonly #stopping = new AbortController();
  #isChecking = false;

  constructor(deps: KeyWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Calls `onEnd` once when the caller is no longer accepted; never for the admin key and for this machine.
   * @returns ends the watch
   */
  watch(caller: Caller, onEnd: () => void): () => void {
    if (caller.kind !== 'key' && caller.kind !== 'session') return () => undefined;
    const name =
      caller.kind === 'key'
        ? `key ${caller.key.id}`
        : `session ${caller.session.id} ${caller.session.user?.role}`;
    const watched = this.#watched.get(name) ?? { ends: new Set(), isValid: () => this.#isValid(caller) };
    this.#watched.set(name, watched);
    watched.ends.add(onEnd);
    if (!this.#isChecking) void this.#keepChecking();
    return () => {
      watched.ends.delete(onEnd);
      if (watched.ends.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name);
    };
  }

  async #isValid(caller: Extract<Caller, { kind: 'key' | 'session' }>): Promise<boolean> {
    const { keys, sessions, clock } = this.#deps;
    if (caller.kind === 'key') {
      const key = await keys.find(caller.key.id);
      return key !== undefined && (!key.expiresAt || key.expiresAt.getTime() > clock.now());
    }
    const session = await sessions.byId(caller.session.id);
    if (!session || session.expiresAt.getTime() <= clock.now()) return false;
    return session.user?.role === caller.session.user?.role;
  }

  /** Checks what is watched: for the owner to call when a key, a session or a user has changed. Never rejects. */
  async check(): Promise<void> {
    const { log } = this.#deps;
    try {
      for (const [name, { ends, isValid }] of [...this.#watched]) {
        if (await isValid()) continue;
        this.#watched.delete(name);
        for (const end of ends) end();
      }
    } catch (error) {
      log.debug({ err: error }, 'keys of streams not checked');
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #keepChecking(): Promise<void> {
    this.#isChecking = true;
    while (this.#watched.size > 0) {
      try {
        await this.#deps.clock.sleep(CHECK_EVERY_MS, this.#stopping.signal);
      } catch {
        // The process stops.
        return;
      }
      await this.check();
    }
    this.#isChecking = false;
  }
}
