import type { Caller } from '../../../core/access/caller.ts';
import type { KeyLookup } from '../../../core/ports/api-key-store.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';

/** Between two checks: a notification may be lost, and a key may expire. */
export const CHECK_EVERY_MS = 5_000;

export interface KeyWatchDeps {
  keys: KeyLookup;
  clock: Clock;
  log: Logger;
}

/**
 * Ends what runs for a key of the API, such as a stream, when the key is revoked or expires. While the keys cannot be read,
 * everything continues.
 */
export class KeyWatch {
  readonly #deps: KeyWatchDeps;
  /** What ends, by the id of the key. */
  readonly #ends = new Map<string, Set<() => void>>();
  readonly #stopping = new AbortController();
  #isChecking = false;

  constructor(deps: KeyWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Calls `onEnd` once when the key of the caller is no longer accepted; never for a caller without a key of the API.
   * @returns ends the watch
   */
  watch(caller: Caller, onEnd: () => void): () => void {
    if (caller.kind !== 'key') return () => undefined;
    const { id } = caller.key;
    const ends = this.#ends.get(id) ?? new Set();
    this.#ends.set(id, ends.add(onEnd));
    if (!this.#isChecking) void this.#keepChecking();
    return () => {
      ends.delete(onEnd);
      if (ends.size === 0 && this.#ends.get(id) === ends) this.#ends.delete(id);
    };
  }

  /** Checks the watched keys: for the owner to call when a key has changed. Never rejects. */
  async check(): Promise<void> {
    const { keys, clock, log } = this.#deps;
    try {
      for (const [id, ends] of [...this.#ends]) {
        const key = await keys.find(id);
        if (key && (!key.expiresAt || key.expiresAt.getTime() > clock.now())) continue;
        this.#ends.delete(id);
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
    while (this.#ends.size > 0) {
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
