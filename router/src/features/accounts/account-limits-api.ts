import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/admission.ts';
import { ACCOUNT_STATES } from '../../core/cluster/account-state.ts';
import { contactBudget, governorOf, quietLeftMs } from '../../core/policies/governor.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { dataResponse, rowIdField, timeView } from '../../infra/operations/fields.ts';
import { pageOf, pageQuery, pageResponse } from '../../infra/operations/paging.ts';
import { phraseField, problemSchema } from '../../infra/operations/problem.ts';
import type { ResponseDoc } from '../../infra/operations/response.ts';
import { refuseOtherAccount } from '../../infra/operations/restrictions.ts';
import { foundAccount, limitView } from './account-view.ts';

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
      .describe('The pace of all messages. `perSecond` 0: no limit.'),
  })
  .meta({ id: 'AccountLimits' });

const notFound: ResponseDoc = { description: 'No such account.', schema: problemSchema };

/** What a WhatsApp account went through and what limits it: `/api/accounts/{id}/history` and `/limits`. */
export function accountLimitsApi(app: App): Endpoint[] {
  const { accounts, accountStore, messageLog, faceSettings, clock } = app;
  const common = {
    method: 'get' as const,
    tag: 'Accounts' as const,
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
        const found = (await accountStore.stateChanges(accountId, page)).map(({ node, at, ...change }) => ({
          ...change,
          ...(node !== '' && { node }),
          at: at.toISOString(),
        }));
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
          faceSettings.get('governor'),
        ]);
        const settings = governorOf(stored, accountId);
        const { firstContacts, quietHours, messages } = settings;
        const budget = contactBudget(contact, settings);
        const warmUpLeftMs = firstContacts.warmUpDays * DAY_MS - contact.accountAgeMs;
        const data: z.input<typeof limitsView> = {
          whatsapp: limits.map(({ forMs, ...limit }) => ({ ...limit, until: timeIn(forMs) })),
          ...(budget && {
            firstContacts: {
              ...budget,
              perDayLater: firstContacts.perDay,
              ...(warmUpLeftMs > 0 && { warmUpUntil: timeIn(warmUpLeftMs) }),
            },
          }),
          ...(quietHours && {
            quietHours: { ...quietHours, isNow: quietLeftMs(quietHours, clock.now()) > 0 },
          }),
          messages,
        };
        return { status: 200, json: { success: true, data } };
      },
    }),
  ];

  function timeIn(ms: number): string {
    return new Date(clock.now() + ms).toISOString();
  }
}
