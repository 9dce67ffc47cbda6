import sql from 'sql-template-tag';
import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import { ACCOUNT_STATES } from '../../core/cluster/account-state.ts';
import { AccountNotHeldError } from '../../core/errors.ts';
import { contactBudget, governorOf, quietLeftMs } from '../../core/policies/governor.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/tasks.ts';
import type { App, Feature, Service } from '../../feature.ts';
import type { Postgres } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import { type Endpoint, endpoint, refuseOtherAccount } from '../../infra/operations/endpoint.ts';
import {
  dataResponse,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { phraseField, problemSchema } from '../../infra/operations/problem.ts';
import type { ResponseDoc } from '../../infra/operations/response.ts';
import { foundAccount, limitView } from './account-view.ts';
import { accountsApi } from './accounts-api.ts';
import { forgetOldStateChanges } from './postgres-account-store.ts';

/** The linked WhatsApp numbers. */
export const accounts: Feature = {
  name: 'accounts',
  tags: {
    Accounts: 'WhatsApp accounts: add, pair, restart, log out, delete.',
    Pairing: 'Pages and status for linking a WhatsApp account.',
  },
  liveEvents: { account: { scopes: ['accounts:read'], honours: RESTRICTIONS } },
  operations: (app) => [...accountsApi(app), ...accountLimitsApi(app)],
  durable: {
    'delete-account': (service, steps, input) =>
      deleteAccount(service, new PostgresAccountDeletion(service.postgres), steps, input),
  },
  retention: { always: [forgetOldStateChanges] },
};

/** Rows of one statement: few enough that no other work waits for their locks. */
const BATCH_ROWS = 500;

/**
 * Deletes an account and everything stored for it: unlinks it at WhatsApp, takes it away from its node, then deletes its
 * rows in batches. Every step is safe to repeat. Deleting an account that does not exist does nothing.
 */
export async function deleteAccount(
  { accounts }: Service,
  rows: Pick<PostgresAccountDeletion, 'close' | 'deleteRows'>,
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
    await rows.close(accountId);
    accounts.forget(accountId);
    return true;
  });
  let deletedRows = 0;
  for (let batch = 1; ; batch++) {
    const deleted = await steps.run(`delete batch ${batch}`, () => rows.deleteRows(accountId, BATCH_ROWS));
    deletedRows += deleted;
    if (deleted === 0) return { deletedRows };
  }
}

/**
 * The rows of an account that is being deleted, in PostgreSQL; see prisma/functions/accounts.sql.
 * @throws {StorageUnavailableError} from both methods; nothing was changed
 */
export class PostgresAccountDeletion {
  readonly #postgres: Pick<Postgres, 'query'>;

  constructor(postgres: Pick<Postgres, 'query'>) {
    this.#postgres = postgres;
  }

  /**
   * Marks the account as being deleted and ends its lease: its node disconnects it, no node takes it again, and its id
   * cannot be added until the last row is deleted. Idempotent; an unknown account changes nothing.
   */
  async close(accountId: string): Promise<void> {
    await withStorage('marking an account as being deleted', () =>
      this.#postgres.query(sql`SELECT account_close(${accountId})`),
    );
  }

  /**
   * Deletes at most about `limit` rows of a closed account: those of every table with an account, and last the account itself.
   * @returns how many; 0 when there are no more, or the account was not closed
   */
  async deleteRows(accountId: string, limit: number): Promise<number> {
    const [row] = await withStorage('deleting the rows of an account', () =>
      this.#postgres.query<{ rows: number }>(sql`
        SELECT account_delete_rows(${accountId}, ${limit}::integer) AS rows`),
    );
    return row?.rows ?? 0;
  }
}

const DAY_MS = 86_400_000;

const changeView = z
  .object({
    id: z.string(),
    state: z.enum(ACCOUNT_STATES),
    reason: z.string().optional(),
    phrase: phraseField,
    node: z.string().optional().describe('The node that ran the account.'),
    at: timeView,
  })
  .meta({
    id: 'AccountStateChange',
    examples: [
      { id: '7', state: 'waiting', reason: 'No network.', node: 'n-3f2a', at: '2026-01-31T11:58:00.000Z' },
    ],
  });

const count = z.int().min(0);

const limitsView = z
  .object({
    whatsapp: z
      .array(limitView)
      .describe(
        'Limits of WhatsApp that apply now. People who wrote before are answered in all but `connection`.',
      ),
    firstContacts: z
      .object({
        perDay: count.describe('In 24 hours, at the present age of the account.'),
        inDay: count.describe('Sent in the last 24 hours.'),
        perHour: count,
        inHour: count,
        perDayLater: count.describe('In 24 hours, after the warm-up.'),
        warmUpUntil: timeView.optional().describe('Absent: the warm-up has ended.'),
      })
      .optional()
      .describe('Messages to people who never wrote to the account. Absent: no limit.'),
    quietHours: z
      .object({ from: z.string(), to: z.string(), timeZone: z.string(), isNow: z.boolean() })
      .optional()
      .describe('When nobody is written to who did not write in the last 24 hours.'),
    messages: z
      .object({ perSecond: z.number(), burst: count })
      .describe('The rate of all messages. `perSecond` 0: no limit.'),
  })
  .meta({ id: 'AccountLimits' });

const notFound: ResponseDoc = { description: 'No such account.', schema: problemSchema };

/** What a WhatsApp account went through and what limits it: `/api/accounts/{id}/history` and `/limits`. */
function accountLimitsApi(app: App): Endpoint[] {
  const { accounts, accountStore, messageLog, settingsStore, clock } = app;
  const common = {
    method: 'get' as const,
    tag: 'Accounts',
    scopes: ['accounts:read'] as const,
    params: { id: 'Id of the account.' },
  };
  return [
    endpoint({
      ...common,
      path: '/api/accounts/{id}/history',
      operationId: 'listAccountStates',
      honours: RESTRICTIONS,
      summary: 'List the states that an account changed to, newest first',
      description: 'The newest 500 are kept. `connecting` takes seconds and is not listed.',
      query: z.strictObject(pageQuery(rowIdField, 50)),
      responses: {
        200: { description: 'A page of states.', schema: pageResponse(changeView) },
        404: notFound,
      },
      handle: async ({ params, query: { cursor, limit }, caller }) => {
        refuseOtherAccount(caller, params.id ?? '');
        const { accountId } = foundAccount(accounts.get(params.id ?? ''));
        const page = { limit: limit + 1, ...(cursor !== undefined && { before: cursor }) };
        const found = (await accountStore.stateChanges(accountId, page)).map((change) =>
          shown(changeView, { ...change, node: change.node || undefined }),
        );
        return { status: 200, json: pageOf(found, limit, ({ id }) => id) };
      },
    }),
    endpoint({
      ...common,
      path: '/api/accounts/{id}/limits',
      operationId: 'getAccountLimits',
      honours: ['routes', 'accounts'],
      summary: 'Show what limits an account, and how much of it is used',
      responses: { 200: { description: 'The limits.', schema: dataResponse(limitsView) }, 404: notFound },
      handle: async ({ params, caller }) => {
        refuseOtherAccount(caller, params.id ?? '');
        const { accountId } = foundAccount(accounts.get(params.id ?? ''));
        const [limits, contact, stored] = await Promise.all([
          accountStore.limits(accountId),
          messageLog.firstContacts(accountId),
          settingsStore.get('governor'),
        ]);
        const settings = governorOf(stored, accountId);
        const { firstContacts, quietHours, messages } = settings;
        const budget = contactBudget(contact, settings);
        const warmUpLeftMs = firstContacts.warmUpDays * DAY_MS - contact.accountAgeMs;
        const nowMs = clock.now();
        const data = shown(limitsView, {
          whatsapp: limits.map((limit) => ({ ...limit, until: nowMs + limit.forMs })),
          ...(budget && {
            firstContacts: {
              ...budget,
              perDayLater: firstContacts.perDay,
              warmUpUntil: warmUpLeftMs > 0 ? nowMs + warmUpLeftMs : undefined,
            },
          }),
          ...(quietHours && {
            quietHours: { ...quietHours, isNow: quietLeftMs(quietHours, nowMs) > 0 },
          }),
          messages,
        });
        return { status: 200, json: { success: true, data } };
      },
    }),
  ];
}
