import sql from 'sql-template-tag';
import type { Postgres } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { AccountDeletion } from './account-deletion.ts';

/** Deletes the rows of an account in PostgreSQL; see prisma/functions/accounts.sql. */
export class PostgresAccountDeletion implements AccountDeletion {
  readonly #postgres: Pick<Postgres, 'query'>;

  constructor(postgres: Pick<Postgres, 'query'>) {
    this.#postgres = postgres;
  }

  async close(accountId: string): Promise<void> {
    await withStorage('marking an account as being deleted', () =>
      this.#postgres.query(sql`SELECT account_close(${accountId})`),
    );
  }

  async deleteRows(accountId: string, limit: number): Promise<number> {
    const [row] = await withStorage('deleting the rows of an account', () =>
      this.#postgres.query<{ rows: number }>(sql`
        SELECT account_delete_rows(${accountId}, ${limit}::integer) AS rows`),
    );
    return row?.rows ?? 0;
  }
}
