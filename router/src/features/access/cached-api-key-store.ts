import type { NodeBus } from '../../core/cluster/node-bus.ts';
import type {
  ApiKey,
  ApiKeyStore,
  KeyLookup,
  NewApiKey,
  StoredApiKey,
} from '../../core/ports/api-key-store.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { CachedTable } from '../../infra/db/stores/cached-table.ts';
import type { NotifyingTransport } from '../../infra/db/stores/notified-cache.ts';

/**
 * Finds API keys in a copy of the table; a node that missed the notification of a deletion
 * (prisma/functions/api-keys.sql) refuses the key after at most a second.
 */
export class CachedApiKeyStore implements ApiKeyStore, KeyLookup {
  readonly #table: ApiKeyStore;
  /** By id. */
  readonly #copy: CachedTable<StoredApiKey>;

  constructor(table: ApiKeyStore, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#copy = new CachedTable(bus, clock, {
      changed: 'keys-changed',
      all: () => table.all(),
      keyOf: ({ id }) => id,
    });
  }

  create(key: NewApiKey): Promise<ApiKey> {
    return this.#copy.change(() => this.#table.create(key));
  }

  all(): Promise<StoredApiKey[]> {
    return this.#table.all();
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    return (await this.#copy.rows()).get(id);
  }

  delete(id: string): Promise<boolean> {
    return this.#copy.change(() => this.#table.delete(id));
  }

  markUsed(id: string): Promise<void> {
    return this.#copy.markUsed(id, () => this.#table.markUsed(id));
  }
}
