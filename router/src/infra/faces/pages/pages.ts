import { toBuffer } from 'qrcode';
import { z } from 'zod';
import type { Config } from '../../../config/config.ts';
import type { AccountControl } from '../../../core/ports/account-control.ts';
import type { AccountStatus } from '../../../core/ports/chat-provider.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { type Endpoint, endpoint } from '../rest/endpoint.ts';
import { timeView } from '../rest/fields.ts';
import { isSame, refuseForeignOrigin, sessionCookie } from '../rest/guard.ts';
import { HttpProblem, problemSchema } from '../rest/problem.ts';
import { accountViewOf } from '../rest/resources/account-view.ts';
import type { ApiResponse } from '../rest/response.ts';
import { html } from './html.ts';
import { page } from './page-frame.ts';
import { qrPage } from './qr-page.ts';

export interface PagesDeps {
  accounts: AccountControl;
  config: Pick<Config, 'accountId' | 'apiKey'>;
  now(): number;
  log: Logger;
}

/** Whole pixels a module, so that all are of one size. */
const PIXELS_PER_MODULE = 8;

const statusView = z
  .object({
    state: z.string(),
    nextAction: z.string(),
    qr: z.string().optional().describe('Raw text of the QR code.'),
    pairingCode: z.string().optional(),
    expiresAt: timeView.optional(),
    retryAt: timeView.optional(),
    reason: z.string().optional(),
    account: z
      .object({
        id: z.string(),
        phone: z.string().optional(),
        lid: z.string().optional(),
        name: z.string().optional(),
      })
      .optional()
      .describe('The linked account, once known.'),
  })
  .meta({ id: 'PairingStatus' });

const loginBody = z.object({ key: z.string().optional() });

const accountQuery = z.object({
  account: z.string().optional().describe("Account to show. Default: the service's own."),
});

const htmlPage = { description: 'The page.', contentType: 'text/html' };

/** Pages for people: `/`, `/login`, `/qr` with its picture and status. With a key set, a stranger sees a login form only. */
export function pages({ accounts, config, now, log }: PagesDeps): Endpoint[] {
  const common = { tag: 'Pairing' as const, method: 'get' as const };

  return [
    endpoint({
      ...common,
      path: '/',
      operationId: 'showOverview',
      isPublic: true,
      summary: 'Where to find what',
      responses: { 200: htmlPage },
      handle: ({ caller }) => (caller === 'stranger' ? loginPage(401) : indexPage(accounts.list())),
    }),
    endpoint({
      tag: 'Pairing',
      method: 'post',
      path: '/login',
      operationId: 'login',
      isPublic: true,
      summary: 'Log a browser in with the admin key',
      body: loginBody,
      bodyType: 'application/x-www-form-urlencoded',
      isBodyOptional: true,
      responses: {
        303: { description: 'Logged in; on to /qr.' },
        401: { description: 'A wrong key.', contentType: 'text/html' },
      },
      handle: ({ body, request }) => {
        refuseForeignOrigin(request);
        if (config.apiKey === undefined) return { status: 303, headers: { location: '/qr' } };
        if (!isSame(body.key?.trim() ?? '', config.apiKey)) {
          log.warn({}, 'login with a wrong key');
          return loginPage(401, 'This is not the admin key.');
        }
        const cookie = sessionCookie(config.apiKey, now());
        return { status: 303, headers: { location: '/qr', 'set-cookie': cookie } };
      },
    }),
    endpoint({
      ...common,
      path: '/qr',
      operationId: 'showPairingPage',
      isPublic: true,
      summary: 'Pairing page, which refreshes itself',
      query: accountQuery,
      responses: { 200: htmlPage, 401: { description: 'A login form.', contentType: 'text/html' } },
      handle: ({ query, caller }) => {
        if (caller === 'stranger') return loginPage(401);
        const shown = statusOf(query.account);
        const others = accounts.list().filter(({ accountId }) => accountId !== shown.accountId);
        return qrPage(shown, others, now());
      },
    }),
    endpoint({
      ...common,
      path: '/qr/image',
      operationId: 'getPairingImage',
      summary: 'The current QR code as a picture',
      query: accountQuery,
      responses: {
        200: { description: 'The picture.', contentType: 'image/png' },
        404: { description: 'There is no QR code in this state.', schema: problemSchema },
      },
      handle: async ({ query }) => {
        const { qr, state } = statusOf(query.account);
        if (qr === undefined) {
          throw new HttpProblem(404, 'NO_QR', `There is no QR code to show; the account is ${state}.`);
        }
        return { status: 200, png: await toBuffer(qr, { type: 'png', scale: PIXELS_PER_MODULE, margin: 2 }) };
      },
    }),
    endpoint({
      ...common,
      path: '/qr/status',
      operationId: 'getPairingStatus',
      summary: 'State of pairing, for programs',
      query: accountQuery,
      responses: { 200: { description: 'The state.', schema: statusView } },
      handle: ({ query }) => ({ status: 200, json: statusViewOf(statusOf(query.account)) }),
    }),
  ];

  function statusOf(accountId = config.accountId): AccountStatus {
    const status = accounts.get(accountId);
    if (status) return status;
    throw new HttpProblem(404, 'NOT_FOUND', 'There is no WhatsApp account with this id.');
  }
}

function statusViewOf(status: AccountStatus): z.input<typeof statusView> {
  const {
    accountId,
    since: _since,
    node: _node,
    isConnected: _isConnected,
    phone,
    lid,
    name,
    ...shown
  } = accountViewOf(status);
  const isLinked = phone !== undefined || lid !== undefined;
  return { ...shown, ...(isLinked && { account: { id: accountId, phone, lid, name } }) };
}

function loginPage(status: number, problem?: string): ApiResponse {
  return page({
    status,
    title: 'Log in',
    main: html`
<h1>Log in</h1>
<p>Enter the admin key: the value of WA2AI_API_KEY, or what is in its file.</p>
<form method="post" action="/login">
<label for="key">Admin key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>
<p role="alert">${problem}</p>`,
  });
}

function indexPage(accounts: readonly AccountStatus[]): ApiResponse {
  return page({
    status: 200,
    title: 'Overview',
    main: html`
<h1>WhatsApp accounts</h1>
<ul>${accounts.map(
      ({ accountId, state, nextAction }) => html`
<li><a href="/qr?account=${encodeURIComponent(accountId)}">${accountId}</a> is ${state}. ${nextAction}</li>`,
    )}
</ul>
<h2>Look up</h2>
<ul>
<li><a href="/api/routes">Routes</a></li>
<li><a href="/api/messages">Messages</a> and <a href="/api/dead-letters">dead letters</a></li>
<li><a href="/health/ready">Readiness</a> and <a href="/metrics">metrics</a></li>
<li><a href="/openapi.json">Description of the API</a> (OpenAPI 3.1)</li>
<li><a href="/docs/README.md">Documentation</a></li>
</ul>`,
  });
}
