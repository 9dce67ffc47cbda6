import { z } from 'zod';
import { ACCOUNT_STATES } from '../../../../core/cluster/account-state.ts';
import type { AccountControl } from '../../../../core/ports/account-control.ts';
import type { AccountStatus } from '../../../../core/ports/chat-provider.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { changedResponse, dataResponse, listResponse, phoneField, timeView } from '../fields.ts';
import { HttpProblem, problemSchema } from '../problem.ts';
import type { Call, ResponseDoc } from '../response.ts';

export interface AccountsApiDeps {
  accounts: AccountControl;
  log: Logger;
}

/** As WA2AI_ACCOUNT_ID. */
const ACCOUNT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const accountView = z
  .object({
    accountId: z.string(),
    state: z.enum(ACCOUNT_STATES),
    nextAction: z.string().describe('What a person should do now.'),
    isConnected: z
      .boolean()
      .optional()
      .describe('The connection to WhatsApp stands: in the state open, and in restricted as a rule.'),
    since: timeView,
    reason: z.string().optional(),
    qr: z.string().optional().describe('Raw text of the QR code, while pairing by QR.'),
    pairingCode: z.string().optional().describe('Eight letters to type on the phone, while pairing by code.'),
    expiresAt: timeView.optional().describe('When qr or pairingCode ends.'),
    retryAt: timeView
      .optional()
      .describe('When the next connect is tried, or when the limit of WhatsApp is over.'),
    problems: z
      .array(z.string())
      .optional()
      .describe('What is wrong with single messages or keys while the account works.'),
    phone: z.string().optional(),
    lid: z.string().optional(),
    name: z.string().optional(),
    node: z.string().optional().describe('The node that holds the account; absent while none does.'),
  })
  .meta({ id: 'Account' });

const newAccountBody = z
  .strictObject({
    id: z
      .string()
      .regex(ACCOUNT_ID, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
      .describe('A name for it, such as `sales`.'),
  })
  .meta({ id: 'NewAccount' });

const pairBody = z
  .strictObject({
    method: z.enum(['qr', 'code']).optional().describe('Default: qr.'),
    phone: phoneField.optional().describe('For `code`: the phone number, with country code, of the account.'),
  })
  .superRefine((body, context) => {
    if (body.method === 'code' && body.phone === undefined) {
      context.addIssue({ code: 'custom', path: ['phone'], message: 'is missing; pairing by code needs it' });
    }
    if (body.method !== 'code' && body.phone !== undefined) {
      context.addIssue({ code: 'custom', path: ['phone'], message: 'belongs to the method code only' });
    }
  })
  .meta({ id: 'Pair' });

const notFound: ResponseDoc = { description: 'No such account.', schema: problemSchema };

/** WhatsApp accounts and their named states: `/api/accounts`. */
export function accountsApi({ accounts, log }: AccountsApiDeps): Endpoint[] {
  const common = { tag: 'Accounts' as const };
  const responses = {
    200: { description: 'The account.', schema: dataResponse(accountView) },
    404: notFound,
  };
  const changed = {
    200: { description: 'The account as it is now.', schema: changedResponse(accountView) },
    404: notFound,
    409: { description: 'Not possible in this state.', schema: problemSchema },
  };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/accounts',
      operationId: 'listAccounts',
      summary: 'List WhatsApp accounts',
      responses: { 200: { description: 'The accounts.', schema: listResponse(accountView) } },
      handle: () => {
        const data = accounts.list().map(accountViewOf);
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts',
      operationId: 'createAccount',
      summary: 'Add a WhatsApp account, to be paired next',
      body: newAccountBody,
      responses: {
        201: {
          description: 'The new account; a node starts it at once.',
          schema: changedResponse(accountView),
        },
        409: { description: 'There is an account with this id.', schema: problemSchema },
      },
      handle: async ({ body: { id } }: Call<z.output<typeof newAccountBody>, unknown>) => {
        if ((await accounts.create(id)) === 'known') {
          throw new HttpProblem(409, 'ACCOUNT_EXISTS', 'There is a WhatsApp account with this id.');
        }
        log.info({ accountId: id, action: 'create' }, 'account changed by an admin');
        const data = accountViewOf(found(accounts.get(id)));
        return { status: 201, json: { success: true, message: 'Account added; pair it next.', data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/accounts/{id}',
      operationId: 'getAccount',
      summary: 'Show a WhatsApp account',
      responses,
      handle: ({ params }) => ({
        status: 200,
        json: { success: true, data: accountViewOf(found(accounts.get(params.id ?? ''))) },
      }),
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts/{id}/pair',
      operationId: 'pairAccount',
      summary: 'Pair by QR code or by an eight-letter code',
      body: pairBody,
      isBodyOptional: true,
      responses: changed,
      handle: async ({ params, body }: Call<z.output<typeof pairBody>, unknown>) => {
        const id = params.id ?? '';
        if (found(accounts.get(id)).state === 'open') {
          throw new HttpProblem(
            409,
            'ALREADY_LINKED',
            'The account is linked; log it out before pairing again.',
          );
        }
        const by =
          body.phone === undefined
            ? { method: 'qr' as const }
            : { method: 'code' as const, phone: body.phone };
        const status = await accounts.pair(id, by);
        return changedTo(status, 'Pairing started.', 'pair');
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts/{id}/logout',
      operationId: 'logoutAccount',
      summary: 'Unlink the account from WhatsApp; pairing starts anew',
      responses: changed,
      handle: async ({ params }) =>
        changedTo(await accounts.logout(params.id ?? ''), 'Account logged out.', 'logout'),
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts/{id}/restart',
      operationId: 'restartAccount',
      summary: 'Connect anew, out of any state',
      responses: changed,
      handle: async ({ params }) =>
        changedTo(await accounts.restart(params.id ?? ''), 'Connection restarted.', 'restart'),
    }),
  ];

  function changedTo(status: AccountStatus | undefined, message: string, action: string) {
    const account = found(status);
    log.info({ accountId: account.accountId, action, state: account.state }, 'account changed by an admin');
    return { status: 200, json: { success: true, message, data: accountViewOf(account) } };
  }
}

/**
 * Refuses an account that this service does not have: what is stored for it would never be used.
 * @throws {HttpProblem} 400
 */
export function refuseUnknownAccount(accounts: AccountControl, accountId: string, knownId: string): void {
  if (accountId === knownId || accounts.get(accountId)) return;
  const message = 'is no WhatsApp account of this service';
  throw new HttpProblem(400, 'INVALID_BODY', `accountId ${message}.`, [{ field: 'accountId', message }]);
}

function found(status: AccountStatus | undefined): AccountStatus {
  if (status) return status;
  throw new HttpProblem(404, 'NOT_FOUND', 'There is no WhatsApp account with this id.');
}

/** An account as answers show it: times as text. */
export function accountViewOf(status: AccountStatus): z.input<typeof accountView> {
  const { sinceMs, expiresAtMs, retryAtMs, limitLeftMs: _left, ...rest } = status;
  return {
    ...rest,
    since: new Date(sinceMs).toISOString(),
    ...(expiresAtMs !== undefined && { expiresAt: new Date(expiresAtMs).toISOString() }),
    ...(retryAtMs !== undefined && { retryAt: new Date(retryAtMs).toISOString() }),
  };
}
