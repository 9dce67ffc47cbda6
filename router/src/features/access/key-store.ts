import sql from 'sql-template-tag';
import { z } from 'zod';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import { nodeMessage } from '../../core/cluster/node-bus.ts';
import type { ApiKey, ApiKeyStore, NewApiKey, StoredApiKey } from '../../core/ports/api-key-store.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import {
  ACCESS_MAX_AGE_MS,
  type CacheNodes,
  NotifiedCache,
  recentUses,
} from '../../infra/db/stores/notified-cache.ts';
import { storableJson } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

const COLUMNS = sql`id, name, secret_hash AS "secretHash", scopes, chats, routes, accounts, limits, created_at AS "createdAt",
  expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;

/** PostgreSQL: a key of the API changed. */
export const keysChanged = nodeMessage('keys-changed');

const KNOWN: ReadonlySet<string> = new Set(SCOPES);
const absent = <T extends z.ZodType>(type: T) => type.nullable().transform((value) => value ?? undefined);

/** A row whose restrictions cannot be read is not a key: it must not become a key without restrictions. */
const rowSchema = z.object({
  id: z.string(),
  name: z.string(),
  secretHash: z.instanceof(Uint8Array),
  // A newer version may have stored others.
  scopes: z
    .array(z.string())
    .transform((scopes) => scopes.filter((scope): scope is Scope => KNOWN.has(scope))),
  chats: absent(z.array(z.string())),
  routes: absent(z.array(z.string())),
  accounts: absent(z.array(z.string())),
  limits: z.object({ perMinute: z.int().min(1), perSecond: z.int().min(1) }),
  createdAt: z.date(),
  expiresAt: absent(z.date()),
  lastUsedAt: absent(z.date()),
});

/**
 * Keys of the API in PostgreSQL. `find` reads a copy of the table, so that a request costs no statement, also one with an invented
 * key. Every change makes all nodes read it again (prisma/functions/api-keys.sql).
 */
export class PostgresApiKeyStore implements ApiKeyStore {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;
  /** By id. */
  readonly #copy: NotifiedCache<ReadonlyMap<string, StoredApiKey>>;
  readonly #used: ReturnType<typeof recentUses>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>, nodes?: CacheNodes) {
    this.#postgres = postgres;
    this.#copy = new NotifiedCache(nodes, { changed: keysChanged, maxAgeMs: ACCESS_MAX_AGE_MS });
    this.#used = recentUses(nodes);
  }

  async find(id: string): Promise<StoredApiKey | undefined> {
    const keys = await this.#copy.read(
      'all',
      async () => new Map((await this.all()).map((key) => [key.id, key])),
    );
    return keys.get(id);
  }

  #write<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.#copy.change(() => withStorage(what, work));
  }

  async create(key: NewApiKey): Promise<ApiKey> {
    const { secretHash: _hash, ...shown } = key;
    const [row] = await this.#write('storing a key of the API', () =>
      this.#postgres.query<{ createdAt: Date }>(sql`
        INSERT INTO api_key (id, name, secret_hash, scopes, chats, routes, accounts, limits, expires_at)
        VALUES (${key.id}, ${key.name}, ${Buffer.from(key.secretHash)}, ${[...key.scopes]}::text[],
          ${storableJson(key.chats)}::jsonb, ${storableJson(key.routes)}::jsonb, ${storableJson(key.accounts)}::jsonb,
          ${storableJson(key.limits)}::jsonb, ${key.expiresAt}::timestamptz)
        RETURNING created_at AS "createdAt"`),
    );
    return { ...shown, createdAt: row?.createdAt ?? new Date() };
  }

  async all(): Promise<StoredApiKey[]> {
    const rows = await withStorage('reading the keys of the API', () =>
      this.#postgres.query(sql`SELECT ${COLUMNS} FROM api_key ORDER BY created_at, id`),
    );
    return rows.flatMap((row) => {
      const { data } = rowSchema.safeParse(row);
      return data ? [data] : [];
    });
  }

  async delete(id: string): Promise<boolean> {
    const count = await this.#write('deleting a key of the API', () =>
      this.#postgres.execute(sql`DELETE FROM api_key WHERE id = ${id}`),
    );
    return count > 0;
  }

  async markUsed(id: string): Promise<void> {
    if (this.#used?.has(id)) return;
    this.#used?.set(id, true);
    await withStorage('recording the use of a key of the API', () =>
      this.#postgres.execute(sql`
        UPDATE api_key SET last_used_at = now()
        WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`),
    );
  }
}
