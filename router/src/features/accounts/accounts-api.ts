import { z } from 'zod';
import { allowedChats, type Caller, mayDo, mayUseAccount, RESTRICTIONS } from '../../core/access/caller.ts';
import { maskedProxyUrl, readProxyUrl } from '../../core/account-proxy.ts';
import { StorageUnavailableError } from '../../core/errors.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import { PLAYGROUND } from '../../core/playground/playground-account.ts';
import type { AccountStatus } from '../../core/ports/chat-provider.ts';
import type { MessageLog } from '../../core/ports/message-log.ts';
import type { App } from '../../feature.ts';
import { MASK } from '../../infra/agents/route-secrets.ts';
import { type Endpoint, endpoint, refuseOtherAccount } from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  changedResponse,
  dataResponse,
  optionalPageQuery,
  pageOfAll,
  pageResponse,
  phoneField,
  shown,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import type { Call, ResponseDoc } from '../../infra/operations/response.ts';
import {
  accountDetailView,
  accountView,
  accountViewOf,
  foundAccount,
  outgoingView,
  withoutCodes,
} from './account-view.ts';

const proxyField = z.strictObject({
  url: z
    .string()
    .max(2_048)
    .superRefine((url, context) => {
      const read = readProxyUrl(url);
      if ('refusal' in read) context.addIssue({ code: 'custom', message: read.refusal });
    })
    .meta({ format: 'password' })
    .describe(
      '`http://`, `https://` or `socks5://`, with user name and password if the proxy asks for them (special characters percent-encoded), host and port. Responses show user name and password as `***`; with these, the stored ones stay.',
    ),
});

const newAccountBody = z
  .strictObject({
    id: accountIdField.describe('A name for the account, such as `sales`.'),
    proxy: proxyField
      .optional()
      .describe(
        'All connections of the account to WhatsApp go through it, from the first one on. Absent: it connects directly.',
      ),
  })
  .meta({
    id: 'NewAccount',
    examples: [{ id: 'sales' }, { id: 'sales', proxy: { url: 'http://user:password@proxy.example:3128' } }],
  });

const pairBody = z
  .strictObject({
    method: z.enum(['qr', 'code']).optional().describe('Default: qr.'),
    phone: phoneField.optional().describe('For `code`: the phone number, with country code, of the account.'),
  })
  .superRefine((body, context) => {
    if (body.method === 'code' && body.phone === undefined) {
      context.addIssue({ code: 'custom', path: ['phone'], message: PHRASES['field.missing-phone'] });
    }
    if (body.method !== 'code' && body.phone !== undefined) {
      context.addIssue({ code: 'custom', path: ['phone'], message: PHRASES['field.code-only'] });
    }
  })
  .meta({ id: 'Pair', examples: [{ method: 'code', phone: '+54 9 3777 111111' }] });

const passkeyBody = z
  .union([
    z
      .strictObject({
        answer: z.string().min(1).max(16_384).describe('In the step `sign`: what the script showed.'),
      })
      .describe('The signed request of WhatsApp: a PublicKeyCredential as JSON.'),
    z
      .strictObject({
        isSameCode: z.boolean().describe('In the step `compare`: the phone shows the same code.'),
      })
      .describe('The result of the comparison.'),
  ])
  .meta({ id: 'Passkey', examples: [{ isSameCode: true }] });

const accountBody = z
  .strictObject({
    proxy: proxyField
      .nullable()
      .describe('All connections of the account to WhatsApp go through it. Null: it connects directly.'),
  })
  .meta({ id: 'AccountSettings', examples: [{ proxy: { url: 'http://user:password@proxy.example:3128' } }] });

const listQuery = z.strictObject(optionalPageQuery);

const notFound: ResponseDoc = { description: 'No such account.', schema: problemSchema };

/** WhatsApp accounts and their named states: `/api/accounts`. */
export function accountsApi({ accounts, messageLog, proxies, deleteAccount, log }: App): Endpoint[] {
  const common = { tag: 'Accounts' };
  const params = { id: 'Id of the account.' };
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
      scopes: ['accounts:read'],
      honours: RESTRICTIONS,
      summary: 'List WhatsApp accounts, by id',
      query: listQuery,
      responses: { 200: { description: 'The accounts.', schema: pageResponse(accountView) } },
      handle: ({ query, caller }) => ({
        status: 200,
        json: pageOfAll(
          accounts
            .list()
            .filter(({ accountId }) => mayUseAccount(caller, accountId))
            .map((status) => viewFor(caller, status)),
          query,
          ({ id }) => id,
        ),
      }),
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts',
      operationId: 'createAccount',
      scopes: ['accounts:manage'],
      honours: [],
      summary: 'Add a WhatsApp account; pair it next',
      body: newAccountBody,
      oldNames: { accountId: 'id' },
      creates: {},
      responses: {
        201: { description: 'The new account. A node starts it now.', schema: changedResponse(accountView) },
        409: {
          description: 'There is an account with this id, or it is still being deleted.',
          schema: problemSchema,
        },
      },
      handle: async ({ body: { id: accountId, proxy } }) => {
        if (accountId === PLAYGROUND) {
          throw new HttpProblem(409, 'ACCOUNT_EXISTS', say('problem.id-of-playground'));
        }
        if (proxy?.url.includes(MASK)) throw withoutLogin();
        const as = proxy && { proxyUrl: proxy.url };
        if ((await accounts.create(accountId, as)) === 'known') {
          const isThere = accounts.get(accountId) !== undefined;
          throw new HttpProblem(
            409,
            'ACCOUNT_EXISTS',
            isThere ? say('problem.account-exists') : say('problem.account-being-deleted'),
          );
        }
        log.info({ accountId, action: 'create' }, 'account changed by an admin');
        const data = accountViewOf(foundAccount(accounts.get(accountId)));
        const message = 'Account added; pair it next.';
        return { status: 201, object: accountId, json: { success: true, message, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/accounts/{id}',
      operationId: 'getAccount',
      scopes: ['accounts:read'],
      honours: RESTRICTIONS,
      summary: 'Show a WhatsApp account',
      params,
      responses: {
        200: { description: 'The account.', schema: dataResponse(accountDetailView) },
        404: notFound,
      },
      handle: async ({ params, caller }) => {
        const account = viewFor(caller, allowed(caller, params.id));
        // Of all chats.
        const outgoing = allowedChats(caller) ? undefined : await outgoingOf(messageLog, account.id);
        return { status: 200, json: { success: true, data: { ...account, ...(outgoing && { outgoing }) } } };
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      path: '/api/accounts/{id}',
      operationId: 'changeAccount',
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Set the proxy of a WhatsApp account, or remove it',
      description:
        'The WebSocket, media files and look-ups of the client version of this account go through the proxy from now on: the account connects again immediately. While the proxy does not work, the state of the account is `proxy-failed`; it never connects without it. Requests to agents and webhooks do not use it.',
      params,
      body: accountBody,
      responses: changed,
      handle: async ({ params, body: { proxy }, caller }) => {
        const { accountId, provider } = allowed(caller, params.id);
        if (provider) {
          const message = PHRASES['field.proxy-of-playground'];
          throw invalid('body', [{ field: 'proxy', message }]);
        }
        const url = proxy === null ? undefined : await wholeUrl(accountId, proxy.url);
        if (!(await proxies.set(accountId, url))) foundAccount(undefined);
        const message = url === undefined ? 'Proxy removed.' : 'Proxy stored.';
        // Also with the same URL: a repeated call completes one whose node did not answer.
        return changedTo(await accounts.restart(accountId), message, 'proxy');
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/accounts/{id}',
      operationId: 'deleteAccount',
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Delete a WhatsApp account and everything stored for it',
      description:
        "Unlinks the account at WhatsApp if it is connected, then deletes its credentials, messages, dead letters, routes and the account itself, in the background. The deletion continues after a crash. The service's own account (WA2AI_ACCOUNT_ID) is added again, empty, at the next start.",
      params,
      responses: {
        202: { description: 'The account as it was.', schema: changedResponse(accountView) },
        404: notFound,
      },
      handle: async ({ params, caller }) => {
        const account = allowed(caller, params.id);
        await deleteAccount(account.accountId);
        log.info({ accountId: account.accountId, action: 'delete' }, 'account changed by an admin');
        const message = 'The account is being deleted.';
        return { status: 202, json: { success: true, message, data: accountViewOf(account) } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts/{id}/pair',
      operationId: 'pairAccount',
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Pair by QR code or by an eight-letter code',
      params,
      body: pairBody,
      isBodyOptional: true,
      responses: changed,
      handle: async ({ params, body, caller }: Call<z.output<typeof pairBody>, unknown>) => {
        const { accountId: id, state } = allowed(caller, params.id);
        if (state === 'open') {
          throw new HttpProblem(409, 'ALREADY_LINKED', say('problem.already-linked'));
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
      path: '/api/accounts/{id}/passkey',
      operationId: 'usePasskey',
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Continue linking an account that WhatsApp asks for a passkey',
      description:
        'In the state `passkey-required`. First the answer of the script that `passkey.script` of the account contains, then whether the phone shows the code of `passkey.code`. Other codes end the pairing, and nothing is linked.',
      params,
      body: passkeyBody,
      responses: changed,
      handle: async ({ params, body, caller }) => {
        const { accountId } = allowed(caller, params.id);
        return changedTo(await accounts.usePasskey(accountId, body), 'Linking continues.', 'passkey');
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts/{id}/logout',
      operationId: 'logoutAccount',
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Unlink the account at WhatsApp and start pairing',
      params,
      responses: changed,
      handle: async ({ params, caller }) => {
        const { accountId } = allowed(caller, params.id);
        return changedTo(await accounts.logout(accountId), 'Account logged out.', 'logout');
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/accounts/{id}/restart',
      operationId: 'restartAccount',
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Connect again, from any state',
      params,
      responses: changed,
      handle: async ({ params, caller }) => {
        const { accountId } = allowed(caller, params.id);
        return changedTo(await accounts.restart(accountId), 'Connection restarted.', 'restart');
      },
    }),
  ];

  /** With the stored user name and password in place of the mask. @throws {HttpProblem} 400 */
  async function wholeUrl(accountId: string, url: string): Promise<string> {
    if (!url.includes(MASK)) return url;
    const before = await proxies.urlOf(accountId);
    if (before !== undefined && url === maskedProxyUrl(before)) return before;
    throw withoutLogin();
  }

  /** @throws {HttpProblem} 403 not for this caller, 404 none */
  function allowed(caller: Caller, id = ''): AccountStatus {
    refuseOtherAccount(caller, id);
    return foundAccount(accounts.get(id));
  }

  function changedTo(status: AccountStatus | undefined, message: string, action: string) {
    const account = foundAccount(status);
    log.info({ accountId: account.accountId, action, state: account.state }, 'account changed by an admin');
    return { status: 200, json: { success: true, message, data: accountViewOf(account) } };
  }
}

/** The mask in place of a user name and password that are not stored. */
function withoutLogin(): HttpProblem {
  const message = PHRASES['field.proxy-login-missing'];
  return invalid('body', [{ field: 'proxy.url', message }]);
}

function viewFor(caller: Caller, status: AccountStatus): z.output<typeof accountView> {
  return accountViewOf(mayDo(caller, 'accounts:manage') ? status : withoutCodes(status));
}

/** Undefined while the database does not answer: the state of the account is shown then too. */
async function outgoingOf(
  messageLog: Pick<MessageLog, 'outgoingWork'>,
  accountId: string,
): Promise<z.output<typeof outgoingView> | undefined> {
  try {
    return shown(outgoingView, await messageLog.outgoingWork(accountId));
  } catch (error) {
    if (error instanceof StorageUnavailableError) return undefined;
    throw error;
  }
}
