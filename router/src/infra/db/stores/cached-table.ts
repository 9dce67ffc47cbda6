import type { NodeBus, NodeMessage } from '../../../core/cluster/node-bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';

/** A deleted row is found no longer than this, also on a node that missed the notification. */
const MAX_AGE_MS = 1_000;
/** `markUsed` writes less often than this for one row. */
const MARK_EVERY_MS = 60_000;

/** A table that is read as a whole. */
export interface CachedTableOptions<Row> {
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
