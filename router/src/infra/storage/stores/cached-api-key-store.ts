import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type {
  ApiKey,
  ApiKeyStore,
  KeyLookup,
  NewApiKey,
  StoredApiKey,
} from '../../../core/ports/api-key-store.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';

/** A revoked key works no longer than this, also on a node that missed the notification. */
const MAX_AGE_MS = 1_000;
/** `markUsed` writes less often than this for one key. */
const MARK_EVERY_MS = 60_000;

/**
 * Finds keys in a copy of the whole table, so that a request costs no statement, also one with an id that does not exist.
 * The copy is read again after a change of any key: PostgreSQL notifies all nodes (prisma/functions/api-keys.sql). A node
 * that missed a notification refuses a deleted key after at most a second.
 */
export class CachedApiKeyStore implements ApiKeyStore, KeyLookup {
  readonly #table: ApiKeyStore;
  readonly #clock: Clock;
  readonly #cache: NotifiedCache<ReadonlyMap<string, StoredApiKey>>;
  /** When a use of a key was last written, on the monotonic clock. */
  readonly #markedAtMs = new Map<string, number>();

  constructor(table: ApiKeyStore, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
    // One entry: the table.
    this.#cache = new NotifiedCache(bus.transport, clock, {
      maxSize: 1,
      sizeOf: () => 1,
      maxAgeMs: MAX_AGE_MS,
    });
    bus.on('keys-changed', () => this.#cache.clear());
  }

  create(key: NewApiKey): Promise<ApiKey> {
    return this.#cache.change(() => this.#table.create(key));
  }

  all(): Promise<StoredApiKey[]> {
    return this.#table.all();
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    const keys = await this.#cache.read('all', async () => {
      const stored = await this.#table.all();
      return new Map(stored.map((key) => [key.id, key]));
    });
    return keys.get(id);
  }

  delete(id: string): Promise<boolean> {
    this.#markedAtMs.delete(id);
    return this.#cache.change(() => this.#table.delete(id));
  }

  async markUsed(id: string): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const lastMs = this.#markedAtMs.get(id);
    if (lastMs !== undefined && nowMs - lastMs < MARK_EVERY_MS) return;
    this.#markedAtMs.set(id, nowMs);
    await this.#table.markUsed(id);
  }
}
