import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../core/clock.ts';
import type { NodeBus, NodeMessage, NodeTransport } from '../../../core/cluster/node-bus.ts';

/** How long an entry is used unless the owner says otherwise. */
const DEFAULT_MAX_AGE_MS = 5_000;

/** Carries the notifications of PostgreSQL. */
export interface NotifyingTransport extends NodeTransport {
  /** Another value after each break, in which notifications were lost; undefined while it is broken. */
  readonly session: number | undefined;
}

interface NotifiedCacheOptions<Value> {
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

/** A deleted row is found no longer than this, also on a node that missed the notification. */
const MAX_AGE_MS = 1_000;
/** `markUsed` writes less often than this for one row. */
const MARK_EVERY_MS = 60_000;

/** A table that is read as a whole. */
interface CachedTableOptions<Row> {
  /** The notification of a change of the table. */
  changed: NodeMessage['kind'];
  all(): Promise<Row[]>;
  /** By what a row is found. */
  keyOf(row: Row): string;
}

/**
 * Finds rows in a copy of the whole table, so that a request costs no statement, also one with an invented key. The copy is
 * read again after each change: PostgreSQL notifies all nodes. Without the notification a change applies after a second.
 */
export class CachedTable<Row extends { id: string }> {
  readonly #clock: Clock;
  readonly #options: CachedTableOptions<Row>;
  readonly #cache: NotifiedCache<ReadonlyMap<string, Row>>;
  /** When a use of a row was last written, by its id, on the monotonic clock. */
  readonly #markedAtMs = new Map<string, number>();

  constructor(bus: NodeBus<NotifyingTransport>, clock: Clock, options: CachedTableOptions<Row>) {
    this.#clock = clock;
    this.#options = options;
    // One entry: the table.
    this.#cache = new NotifiedCache(bus.transport, clock, {
      maxSize: 1,
      sizeOf: () => 1,
      maxAgeMs: MAX_AGE_MS,
    });
    bus.on(options.changed, () => this.#cache.clear());
  }

  /** All rows by their key; throws what the table throws. */
  rows(): Promise<ReadonlyMap<string, Row>> {
    return this.#cache.read('all', async () => {
      const rows = await this.#options.all();
      const ids = new Set(rows.map(({ id }) => id));
      for (const id of this.#markedAtMs.keys()) if (!ids.has(id)) this.#markedAtMs.delete(id);
      return new Map(rows.map((row) => [this.#options.keyOf(row), row]));
    });
  }

  /** Runs a change of the table, which applies to the next read. */
  change<T>(work: () => Promise<T>): Promise<T> {
    return this.#cache.change(work);
  }

  /** Calls `write`, which stores when the row was used, at most once a minute for each row. */
  async markUsed(id: string, write: () => Promise<void>): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#markedAtMs.get(id);
    if (lastMs !== undefined && nowMs - lastMs < MARK_EVERY_MS) return;
    this.#markedAtMs.set(id, nowMs);
    await write();
  }
}
