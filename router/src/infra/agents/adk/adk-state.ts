import { LRUCache } from 'lru-cache';
import { KeyedQueue } from '../../../core/keyed-queue.ts';
import { orAbort } from '../../../core/time-limit.ts';
import type { AdkDialect } from './adk-wire.ts';

/**
 * What ADK clients learn about servers. All clients of a process share it, so that two routes to one server do not learn
 * it twice and two runs in one session never overlap (a server stores their events interleaved, refs/adk_api.md).
 * Every cache is bounded; learning an evicted entry again costs one request.
 */
export class AdkState {
  readonly #dialects = new LRUCache<string, AdkDialect>({ max: 1_000 });
  readonly #withoutStream = new LRUCache<string, true>({ max: 1_000 });
  readonly #knownSessions = new LRUCache<string, true>({ max: 20_000 });
  readonly #inDoubt = new LRUCache<string, true>({ max: 20_000 });
  readonly #queue = new KeyedQueue();

  /** The spelling that the server at this base URL accepted last. */
  dialectOf(baseUrl: string): AdkDialect | undefined {
    return this.#dialects.get(baseUrl);
  }

  learnDialect(baseUrl: string, dialect: AdkDialect): void {
    this.#dialects.set(baseUrl, dialect);
  }

  /** Whether the server at this base URL is known to have no `/run_sse`. */
  hasNoStream(baseUrl: string): boolean {
    return this.#withoutStream.has(baseUrl);
  }

  addWithoutStream(baseUrl: string): void {
    this.#withoutStream.set(baseUrl, true);
  }

  /** Whether the server accepted a run in this session before: a failure then has another cause than a missing session. */
  isSessionKnown(sessionKey: string): boolean {
    return this.#knownSessions.has(sessionKey);
  }

  addSession(sessionKey: string): void {
    this.#knownSessions.set(sessionKey, true);
  }

  /** Whether an earlier attempt of this message ended and may have run. */
  isInDoubt(sessionKey: string, waMessageId: string): boolean {
    return this.#inDoubt.has(JSON.stringify([sessionKey, waMessageId]));
  }

  addDoubt(sessionKey: string, waMessageId: string): void {
    this.#inDoubt.set(JSON.stringify([sessionKey, waMessageId]), true);
  }

  clearDoubt(sessionKey: string, waMessageId: string): void {
    this.#inDoubt.delete(JSON.stringify([sessionKey, waMessageId]));
  }

  /**
   * Runs `work` after all earlier work of the session, in the order of calls. Other sessions do not wait.
   * @throws the signal's reason when it aborts while waiting; `work` is then never called
   */
  async runAlone<T>(sessionKey: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const own = this.#queue.run(sessionKey, async () => {
      signal?.throwIfAborted();
      return work();
    });
    return orAbort(own, signal);
  }
}
