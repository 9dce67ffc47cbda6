import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../core/clock.ts';
import type { NodeBus, NodeMessageKind, NodeTransport } from '../../../core/cluster/node-bus.ts';

/** How long an entry is used unless the owner says otherwise. */
const DEFAULT_MAX_AGE_MS = 30_000;

/** Carries the notifications of PostgreSQL. */
interface NotifyingTransport extends NodeTransport {
  /** Another value after each break, in which notifications were lost; undefined while it is broken. */
  readonly session: number | undefined;
}

/** How a store learns of changes on other nodes. */
export interface CacheNodes {
  bus: NodeBus<NotifyingTransport>;
  clock: Clock;
}

interface NotifiedCacheOptions<Value> {
  /** The notification of a change of the table. */
  changed: Pick<NodeMessageKind<object>, 'kind' | 'fields'>;
  /** Sum of the sizes of all entries; the least recently used entries are dropped. Default 1. */
  maxSize?: number;
  /** From 1. Default 1. */
  sizeOf?(value: Value): number;
  /** How long an entry is used. Bounds the delay of a change whose notification is lost. Default 30,000. */
  maxAgeMs?: number;
}

/**
 * Caches what a store read from a table of whose changes PostgreSQL notifies all nodes. While notifications may be lost, and
 * without nodes, nothing is cached.
 */
export class NotifiedCache<Value extends object> {
  readonly #nodes: CacheNodes | undefined;
  /** `readAtMs`: when the read began. */
  readonly #entries: LRUCache<string, { value: Value; readAtMs: number }>;
  readonly #maxAgeMs: number;
  /** The transport's session in which the entries were read. */
  #session: number | undefined;
  /** Number of changes. A read that began before the last one is not cached. */
  #changes = 0;

  constructor(nodes: CacheNodes | undefined, options: NotifiedCacheOptions<Value>) {
    const { changed, maxSize = 1, sizeOf = () => 1, maxAgeMs = DEFAULT_MAX_AGE_MS } = options;
    this.#nodes = nodes;
    this.#maxAgeMs = maxAgeMs;
    this.#entries = new LRUCache({ maxSize, sizeCalculation: ({ value }) => Math.max(sizeOf(value), 1) });
    nodes?.bus.on(changed, () => this.#clear());
  }

  /** The cached value, or what `load` reads; throws what `load` throws. */
  async read(key: string, load: () => Promise<Value>): Promise<Value> {
    const session = this.#nodes?.bus.transport.session;
    if (session !== this.#session) {
      this.#clear();
      this.#session = session;
    }
    if (!this.#nodes || session === undefined) return load();
    const nowMs = this.#nodes.clock.monotonicMs();
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
      this.#clear();
    }
  }

  #clear(): void {
    this.#changes += 1;
    this.#entries.clear();
  }
}

/** The longest that an ended key or session is found on a node that missed the notification. */
export const ACCESS_MAX_AGE_MS = 1_000;

/** Ids whose use was stored in the last minute: a request of another one costs a statement. */
export function recentUses(nodes: CacheNodes | undefined): LRUCache<string, true> | undefined {
  if (!nodes) return undefined;
  const perf = { now: () => nodes.clock.monotonicMs() };
  return new LRUCache({ max: 1_000, ttl: 60_000, ttlResolution: 0, perf });
}
