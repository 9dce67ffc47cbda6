import { AccountNotHeldError } from '../../core/errors.ts';
import type { AccountControl } from '../../core/ports/account-control.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/ports/durable-tasks.ts';
import type { AccountDeletion } from './account-deletion.ts';

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
