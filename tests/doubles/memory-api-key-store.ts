import { StorageRejectedError } from '../../router/src/core/errors.ts';
import type {
  ApiKey,
  ApiKeyStore,
  NewApiKey,
  StoredApiKey,
} from '../../router/src/core/ports/api-key-store.ts';

const MARK_EVERY_MS = 60_000;

/** Keys of the API in memory, for tests. */
export class MemoryApiKeyStore implements ApiKeyStore {
  readonly #keys = new Map<string, StoredApiKey>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async create(key: NewApiKey): Promise<ApiKey> {
    if (this.#keys.has(key.id)) throw new StorageRejectedError({ sentence: 'The id exists.' });
    const stored: StoredApiKey = { ...structuredClone(key), createdAt: new Date(this.#now()) };
    this.#keys.set(key.id, stored);
    const { secretHash: _hash, ...shown } = structuredClone(stored);
    return shown;
  }

  async all(): Promise<StoredApiKey[]> {
    return structuredClone([...this.#keys.values()]);
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    return structuredClone(this.#keys.get(id));
  }

  async delete(id: string): Promise<boolean> {
    return this.#keys.delete(id);
  }

  async markUsed(id: string): Promise<void> {
    const key = this.#keys.get(id);
    if (!key || (key.lastUsedAt && this.#now() - key.lastUsedAt.getTime() <= MARK_EVERY_MS)) return;
    key.lastUsedAt = new Date(this.#now());
  }
}
