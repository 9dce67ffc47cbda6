import sql from 'sql-template-tag';
import { z } from 'zod';
import { ROLES, userKeyOf } from '../../core/access/caller.ts';
import type { ConsoleUser, ConsoleUsers, StoredConsoleUser, UserChange } from '../../core/ports/access.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

const COLUMNS = sql`name, role, created_at AS "createdAt", disabled_at AS "disabledAt"`;

const rowSchema = z.object({
  name: z.string(),
  // A role of a newer version is not a role here.
  role: z.enum(ROLES),
  createdAt: z.date(),
  disabledAt: z
    .date()
    .nullable()
    .transform((value) => value ?? undefined),
});

/** Locks the owners, so that of two concurrent changes the second one sees what the first one left. */
const OWNERS = sql`owners AS MATERIALIZED (
  SELECT key FROM console_user WHERE role = 'owner' AND disabled_at IS NULL ORDER BY key FOR UPDATE)`;

/** Users of the console in PostgreSQL. Every call reads or writes the table. */
export class PostgresConsoleUsers implements ConsoleUsers {
  readonly #postgres: Pick<Statements, 'query'>;

  constructor(postgres: Pick<Statements, 'query'>) {
    this.#postgres = postgres;
  }

  async create(
    user: Pick<StoredConsoleUser, 'name' | 'role' | 'passwordHash'>,
  ): Promise<ConsoleUser | 'exists' | 'owner-first'> {
    const { name, role, passwordHash } = user;
    const rows = await withStorage('storing a user', () =>
      this.#postgres.query(sql`
        INSERT INTO console_user (key, name, role, password_hash)
        SELECT ${userKeyOf(name)}, ${name}, ${role}, ${passwordHash}
        WHERE ${role}::text = 'owner' OR EXISTS (SELECT 1 FROM console_user)
        ON CONFLICT (key) DO NOTHING RETURNING ${COLUMNS}`),
    );
    const [created] = usersOf(rows);
    if (created) return created;
    return (await this.hasAny()) ? 'exists' : 'owner-first';
  }

  async all(): Promise<ConsoleUser[]> {
    const rows = await withStorage('reading the users', () =>
      this.#postgres.query(sql`SELECT ${COLUMNS} FROM console_user ORDER BY key`),
    );
    return usersOf(rows);
  }

  async hasAny(): Promise<boolean> {
    const [row] = await withStorage('reading the users', () =>
      this.#postgres.query<{ hasAny: boolean }>(sql`SELECT EXISTS (SELECT 1 FROM console_user) AS "hasAny"`),
    );
    return row?.hasAny ?? false;
  }

  async find(name: string): Promise<StoredConsoleUser | undefined> {
    const [row] = await withStorage('reading a user', () =>
      this.#postgres.query<{ passwordHash: string }>(sql`
        SELECT ${COLUMNS}, password_hash AS "passwordHash" FROM console_user WHERE key = ${userKeyOf(name)}`),
    );
    const [user] = usersOf(row ? [row] : []);
    return row && user && { ...user, passwordHash: row.passwordHash };
  }

  async change(name: string, change: UserChange): Promise<ConsoleUser | 'unknown' | 'last-owner'> {
    const key = userKeyOf(name);
    const { role, passwordHash, isDisabled } = change;
    const staysOwner = (role ?? 'owner') === 'owner' && isDisabled !== true;
    const rows = await withStorage('changing a user', () =>
      this.#postgres.query(sql`
        WITH ${OWNERS}, changed AS (
          UPDATE console_user SET
            role = coalesce(${role ?? null}::text, role),
            password_hash = coalesce(${passwordHash ?? null}::text, password_hash),
            disabled_at = CASE WHEN ${isDisabled ?? null}::boolean IS NULL THEN disabled_at
              WHEN ${isDisabled ?? null}::boolean THEN coalesce(disabled_at, now()) END
          WHERE key = ${key} AND (${staysOwner}::boolean OR EXISTS (SELECT 1 FROM owners WHERE owners.key <> ${key}))
          RETURNING *),
        ended AS (
          DELETE FROM console_session WHERE user_key IN (SELECT key FROM changed WHERE disabled_at IS NOT NULL))
        SELECT ${COLUMNS} FROM changed`),
    );
    const [changed] = usersOf(rows);
    if (changed) return changed;
    return (await this.find(name)) ? 'last-owner' : 'unknown';
  }

  async delete(name: string): Promise<'deleted' | 'unknown' | 'last-owner'> {
    const key = userKeyOf(name);
    const rows = await withStorage('deleting a user', () =>
      this.#postgres.query(sql`
        WITH ${OWNERS}
        DELETE FROM console_user WHERE key = ${key} AND EXISTS (SELECT 1 FROM owners WHERE owners.key <> ${key})
        RETURNING key`),
    );
    if (rows.length > 0) return 'deleted';
    return (await this.find(name)) ? 'last-owner' : 'unknown';
  }
}

function usersOf(rows: readonly unknown[]): ConsoleUser[] {
  return rows.flatMap((row) => {
    const { data } = rowSchema.safeParse(row);
    if (!data) return [];
    const { disabledAt, ...user } = data;
    return [{ ...user, ...(disabledAt && { disabledAt }) }];
  });
}
