import { LRUCache } from 'lru-cache';
import type { NodeTransport } from '../../../core/cluster/node-bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';

/** How long an entry is used unless the owner says otherwise. */
const DEFAULT_MAX_AGE_MS = 5_000;

/** Carries the notifications of PostgreSQL. */
export interface NotifyingTransport extends NodeTransport {
  /** Another value after each break, in which notifications were lost; undefined while it is broken. */
  readonly session: number | undefined;
}

export interface NotifiedCacheOptions<Value> {
  /** Sum of the sizes of all entries; the least recently used entries are dropped. */
  maxSize: number;
  /** From 1. */
  sizeOf(value: Value): number;
  /** How long an entry is used. Bounds the delay of a change whose notification is lost. Default 5000. */
  maxAgeMs?: number;
}

/**
 * Caches what was read from a table of whose changes PostgreSQL notifies all nodes: the owner of the cache calls `clear`
 * at each notification. While notifications may be lost, nothing is cached.
 */
export class NotifiedCache<Value extends object> {
  readonly #transport: NotifyingTransport;
  readonly #clock: Clock;
  /** `readAtMs`: when the read began. */
  readonly #entries: LRUCache<string, { value: Value; readAtMs: number }>;
  readonly #maxAgeMs: number;
  /** The transport's session in which the entries were read. */
  #session: number | undefined;
  /** Number of changes. A read that began before the last one is not cached. */
  #changes = 0;

  constructor(transport: NotifyingTransport, clock: Clock, options: NotifiedCacheOptions<Value>) {
    this.#transport = transport;
    this.#clock = clock;
    this.#maxAgeMs = options.maxAgeMs ?? DEFAULT_MAX_AGE_MS;
    this.#entries = new LRUCache({
      maxSize: options.maxSize,
      sizeCalculation: ({ value }) => Math.max(options.sizeOf(value), 1),
    });
  }

  /** The cached value, or what `load` reads; throws what `load` throws. */
  async read(key: string, load: () => Promise<Value>): Promise<Value> {
    const { session } = this.#transport;
    if (session !== this.#session) {
      this.clear();
      this.#session = session;
    }
    if (session === undefined) return load();
    const nowMs = this.#clock.monotonicMs();
    const cached = this.#entries.get(key);
    if (cached && nowMs - cached.readAtMs < this.#maxAgeMs) return cached.value;
    const changes = this.#changes;
    const value = await load();
    if (changes === this.#changes) this.#entries.set(key, { value, readAtMs: nowMs });
    return value;
  }

  /** Runs a change of the table, which applies to the next read. A change that failed may have been stored. */
  async change<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.clear();
    }
  }

  clear(): void {
    this.#changes += 1;
    this.#entries.clear();
  }
}
