import { toBuffer } from 'qrcode';
import { z } from 'zod';
import { type Caller, mayUseAccount, RESTRICTIONS } from '../../core/access/caller.ts';
import { say } from '../../core/phrases.ts';
import type { AccountStatus } from '../../core/ports/chat-provider.ts';
import { firstRouteCommand } from '../../core/routing/route-message.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint, refuseOtherAccount } from '../../infra/operations/endpoint.ts';
import { shown, timeView } from '../../infra/operations/fields.ts';
import { ownPath } from '../../infra/operations/mount.ts';
import { html, page } from '../../infra/operations/page-frame.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { type ApiResponse, type RefusedCall, requestOf } from '../../infra/operations/response.ts';
import { LOGIN_TEXTS, languageOf, loginPage, loginPages } from '../access/login-pages.ts';
import { accountViewOf, foundAccount, passkeyView } from '../accounts/account-view.ts';
import { qrPage } from './qr-page.ts';

/** A whole number of pixels per module, so that all have one size. */
const PIXELS_PER_MODULE = 8;

const statusView = z
  .object({
    accountId: z.string(),
    state: z.string(),
    nextAction: z.string(),
    qr: z.string().optional().describe('Raw text of the QR code.'),
    pairingCode: z.string().optional(),
    passkey: passkeyView.optional(),
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

const accountQuery = z
  .object({
    account: z.string().optional().describe("Account to show. Default: the service's own."),
    accountId: z.string().optional().describe('The same as `account`.'),
  })
  .refine(
    ({ account, accountId }) => account === undefined || accountId === undefined || account === accountId,
    {
      path: ['accountId'],
      error: 'must be the same as account; send one of them',
    },
  );

type AccountQuery = z.output<typeof accountQuery>;

const htmlPage = { description: 'The page.', contentType: 'text/html' };

/**
 * Pages for people: `/`, which leads to the console, `/login`, `/qr` with its picture and status. A caller who may not see a page
 * gets a login form.
 */
export function pages(app: App): Endpoint[] {
  const { accounts, config, routes, clock } = app;
  const common = { tag: 'Pairing', method: 'get' as const };

  return [
    endpoint({
      ...common,
      path: '/',
      operationId: 'showOverview',
      isPolled: true,
      scopes: ['accounts:read'],
      honours: RESTRICTIONS,
      summary: 'Leads to the console, or to the login form',
      responses: {
        303: { description: 'Logged in. Redirects to the console.' },
        401: { description: 'A login form.', contentType: 'text/html' },
      },
      // Relative, so that it also works behind a path prefix.
      handle: () => ({ status: 303, headers: { location: 'console/' } }),
      refuse: (call) => refusedPage(app, call, '/'),
    }),
    ...loginPages(app),
    endpoint({
      ...common,
      path: '/qr',
      operationId: 'showPairingPage',
      isPolled: true,
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'Pairing page, which refreshes itself',
      query: accountQuery,
      responses: { 200: htmlPage, 401: { description: 'A login form.', contentType: 'text/html' } },
      handle: async (call) => {
        const { query, caller } = call;
        const shown = statusOf(caller, query);
        const others = accounts
          .list()
          .filter(({ accountId }) => accountId !== shown.accountId && mayUseAccount(caller, accountId));
        const request = requestOf(call);
        const url = `${request.protocol}://${request.get('host')}`;
        const isRouted = shown.state !== 'open' || (await hasRoute(shown.accountId));
        const command = isRouted ? undefined : firstRouteCommand(url, shown.accountId, config.environment);
        return qrPage(shown, others, clock.now(), command);
      },
      refuse: (call) => refusedPage(app, call, call.request.originalUrl),
    }),
    endpoint({
      ...common,
      path: '/qr/image',
      operationId: 'getPairingImage',
      isPolled: true,
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'The current QR code as a picture',
      query: accountQuery,
      responses: {
        200: { description: 'The picture.', contentType: 'image/png' },
        404: { description: 'There is no QR code in this state.', schema: problemSchema },
      },
      handle: async ({ query, caller }) => {
        const { qr, state } = statusOf(caller, query);
        if (qr === undefined) {
          throw new HttpProblem(404, 'NO_QR', say('problem.no-qr', { state }));
        }
        return { status: 200, png: await toBuffer(qr, { type: 'png', scale: PIXELS_PER_MODULE, margin: 2 }) };
      },
    }),
    endpoint({
      ...common,
      path: '/qr/status',
      operationId: 'getPairingStatus',
      isPolled: true,
      scopes: ['accounts:manage'],
      honours: ['accounts'],
      summary: 'State of pairing, for programs',
      query: accountQuery,
      responses: { 200: { description: 'The state.', schema: statusView } },
      handle: ({ query, caller }) => ({ status: 200, json: statusViewOf(statusOf(caller, query)) }),
    }),
  ];

  /** True also while the database is unavailable: the page then says nothing about routes. */
  async function hasRoute(accountId: string): Promise<boolean> {
    return routes.list({ accountId }).then(
      (found) => found.length > 0,
      () => true,
    );
  }

  function statusOf(
    caller: Caller,
    { account, accountId = account ?? config.accountId }: AccountQuery,
  ): AccountStatus {
    refuseOtherAccount(caller, accountId);
    return foundAccount(accounts.get(accountId));
  }
}

/** For a caller who may not see the page: a form, or why a login would not help. */
function refusedPage(app: App, { request, caller }: RefusedCall, path: string): ApiResponse {
  if (caller.kind !== 'session') return loginPage(app, { request, location: ownPath(path, '/') });
  const language = languageOf(request);
  const t = LOGIN_TEXTS[language];
  return page({
    status: 403,
    language,
    title: t.notAllowed,
    main: html`<h1>${t.notAllowed}</h1><p>${t.notAllowedLead}</p><p><a href="./">${t.toConsole}</a></p>
<form method="post" action="logout"><button class="quiet">${t.logOut}</button></form>`,
  });
}

function statusViewOf(status: AccountStatus) {
  const { id, phone, lid, name, ...view } = accountViewOf(status);
  const isLinked = phone !== undefined || lid !== undefined;
  return shown(statusView, {
    ...view,
    accountId: id,
    account: isLinked ? { id, phone, lid, name } : undefined,
  });
}
