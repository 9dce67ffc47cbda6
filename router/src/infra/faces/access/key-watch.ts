import type { Caller } from '../../../core/access/caller.ts';
import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { KeyLookup } from '../../../core/ports/api-key-store.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';

/** Finds expired keys, and revoked ones whose notification was lost. */
const CHECK_EVERY_MS = 5_000;

export interface KeyWatchDeps {
  keys: KeyLookup;
  bus: Pick<NodeBus, 'on'>;
  clock: Clock;
  log: Logger;
}

/** A call that lasts; close it at its end. */
export interface WatchedCall {
  /** Aborts when the key of the caller is revoked on any node, or expires. */
  refused: AbortSignal;
  close(): void;
}

/** Ends calls that last, such as streams, when the key of their caller is no longer accepted. */
export class KeyWatch {
  readonly #deps: KeyWatchDeps;
  readonly #calls = new Map<string, Set<AbortController>>();
  #checking: AbortController | undefined;

  /** @param deps `keys` must have subscribed to changes of keys before, so that a check reads the new ones */
  constructor(deps: KeyWatchDeps) {
    this.#deps = deps;
    deps.bus.on('keys-changed', () => void this.#check());
  }

  watch(caller: Caller): WatchedCall {
    const refused = new AbortController();
    if (caller.kind !== 'key') return { refused: refused.signal, close: () => undefined };
    const { id } = caller.key;
    const calls = this.#calls.get(id) ?? new Set();
    this.#calls.set(id, calls.add(refused));
    this.#startChecking();
    return {
      refused: refused.signal,
      close: () => {
        calls.delete(refused);
        if (calls.size === 0 && this.#calls.get(id) === calls) this.#calls.delete(id);
        if (this.#calls.size === 0) this.#checking?.abort();
      },
    };
  }

  #startChecking(): void {
    if (this.#checking && !this.#checking.signal.aborted) return;
    this.#checking = new AbortController();
    void this.#keepChecking(this.#checking.signal);
  }

  async #keepChecking(stopped: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#deps.clock.sleep(CHECK_EVERY_MS, stopped);
      } catch {
        return;
      }
      await this.#check();
    }
  }

  /** Never rejects: keys that cannot be read now are checked again. */
  async #check(): Promise<void> {
    const { keys, clock, log } = this.#deps;
    try {
      for (const [id, calls] of [...this.#calls]) {
        if (isAccepted(await keys.find(id), clock.now())) continue;
        for (const refused of calls) refused.abort();
      }
    } catch (error) {
      log.debug({ err: error }, 'cannot check the keys of open calls, retrying');
    }
  }
}

/** Whether a key still counts. */
export function isAccepted(key: { expiresAt?: Date } | undefined, nowMs: number): boolean {
  return key !== undefined && (key.expiresAt === undefined || key.expiresAt.getTime() > nowMs);
}
