import type { Feature } from '../../feature.ts';
import { accountLimitsApi } from './account-limits-api.ts';
import { accountsApi } from './accounts-api.ts';
import { deleteAccount, PostgresAccountDeletion } from './delete-account.ts';
import { forgetOldStateChanges } from './postgres-account-store.ts';

/** The linked WhatsApp numbers. */
export const accounts: Feature = {
  name: 'accounts',
  operations: (app) => [...accountsApi(app), ...accountLimitsApi(app)],
  durable: {
    'delete-account': ({ accounts, postgres }, steps, input) => {
      const rows = new PostgresAccountDeletion(postgres);
      const close = async (accountId: string) => {
        await rows.close(accountId);
        accounts.forget(accountId);
      };
      const deletion = { close, deleteRows: rows.deleteRows.bind(rows) };
      return deleteAccount({ accounts, deletion }, steps, input);
    },
  },
  retention: { always: [forgetOldStateChanges] },
};
