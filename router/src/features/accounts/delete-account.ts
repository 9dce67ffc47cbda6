import sql from 'sql-template-tag';
import { AccountNotHeldError } from '../../core/errors.ts';
import type { AccountControl } from '../../core/ports/account-control.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/ports/durable-tasks.ts';
import type { Postgres } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** Rows of one statement: few enough that no other work waits for their locks. */
const BATCH_ROWS = 500;

export interface DeleteAccountDeps {
  accounts: Pick<AccountControl, 'unlink'>;
  deletion: AccountDeletion;
}

/**
 * Deletes an account and everything stored for it: unlinks it at WhatsApp, takes it away from its node, then deletes its
 * rows in batches. Every step is safe to repeat. Deleting an account that does not exist does nothing.
 */
export async function deleteAccount(
  { accounts, deletion }: DeleteAccountDeps,
  steps: TaskSteps,
  { accountId }: TaskInput<'delete-account'>,
): Promise<TaskResult<'delete-account'>> {
  // The names of steps are stored: a deletion that runs during an upgrade goes on with the new version.
  await steps.run('log out', async () => {
    try {
      await accounts.unlink(accountId);
      return 'unlinked';
    } catch (error) {
      // Without a node that runs the account, the phone keeps showing the linked device until the person removes it.
      if (error instanceof AccountNotHeldError) return 'not connected';
      throw error;
    }
  });
  await steps.run('close', async () => {
    await deletion.close(accountId);
    return true;
  });
  let deletedRows = 0;
  for (let batch = 1; ; batch++) {
    const rows = await steps.run(`delete batch ${batch}`, () => deletion.deleteRows(accountId, BATCH_ROWS));
    deletedRows += rows;
    if (rows === 0) return { deletedRows };
  }
}

/**
 * The rows of an account that is being deleted.
 * @throws {StorageUnavailableError} from both methods; nothing was changed
 */
interface AccountDeletion {
  /**
   * Marks the account as being deleted and ends its lease: its node disconnects it, no node takes it again, and its id
   * cannot be added until the last row is deleted. Idempotent; an unknown account changes nothing.
   */
  close(accountId: string): Promise<void>;
  /**
   * Deletes at most about `limit` rows of a closed account: keys, journal, messages, replies, dead letters, chats, routes,
   * and last the account itself.
   * @returns how many; 0 when there are no more, or the account was not closed
   */
  deleteRows(accountId: string, limit: number): Promise<number>;
}

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
