import sql from 'sql-template-tag';
import { z } from 'zod';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import type { Clock } from '../../core/clock.ts';
import type { NodeBus } from '../../core/cluster/node-bus.ts';
import type {
  ApiKey,
  ApiKeyStore,
  KeyLookup,
  NewApiKey,
  StoredApiKey,
} from '../../core/ports/api-key-store.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { CachedTable, type NotifyingTransport } from '../../infra/db/stores/notified-cache.ts';
import { storableJson } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

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

const COLUMNS = sql`id, name, secret_hash AS "secretHash", scopes, chats, routes, accounts, limits, created_at AS "createdAt",
  expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;

const KNOWN: ReadonlySet<string> = new Set(SCOPES);
const absent = <T extends z.ZodType>(type: T) => type.nullable().transform((value) => value ?? undefined);

/** A row whose restrictions cannot be read is no key: it must not become a key without restrictions. */
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

/** Keys of the API in PostgreSQL. Every call reads or writes the table. */
export class PostgresApiKeyStore implements ApiKeyStore {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async create(key: NewApiKey): Promise<ApiKey> {
    const { secretHash: _hash, ...shown } = key;
    const [row] = await withStorage('storing a key of the API', () =>
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
    const count = await withStorage('deleting a key of the API', () =>
      this.#postgres.execute(sql`DELETE FROM api_key WHERE id = ${id}`),
    );
    return count > 0;
  }

  async markUsed(id: string): Promise<void> {
    await withStorage('recording the use of a key of the API', () =>
      this.#postgres.execute(sql`
        UPDATE api_key SET last_used_at = now()
        WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`),
    );
  }
}
