import type { Request } from 'express';
import { z } from 'zod';
import {
  type Admission,
  type Caller,
  mayDo,
  RESTRICTIONS,
  ROLES,
  scopesOf,
  userKeyOf,
} from '../../core/access/caller.ts';
import { SCOPES } from '../../core/access/scopes.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import { type ConsoleSession, passwordProblem } from '../../core/ports/access.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  dataResponse,
  optionalPageQuery,
  pageOfAll,
  pageResponse,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { admit, CSRF_HEADER, connectionOf, refuseForeignOrigin } from '../../infra/operations/guard.ts';
import {
  HttpProblem,
  LoginDelayedProblem,
  mistakeAt,
  problemSchema,
  rateLimitSchema,
} from '../../infra/operations/problem.ts';
import { requestOf } from '../../infra/operations/response.ts';
import {
  deviceCookie,
  deviceOf,
  endedSessionCookie,
  sessionCookie,
} from '../../infra/operations/session-cookie.ts';
import type { PasswordHasher, SignInFrom, SignInResult } from './sign-in.ts';

/** A password that somebody sends, of any length that can be one. */
const givenPassword = z.string().min(1).max(1_024);

const signInBody = z
  .union(
    [
      z.strictObject({ key: z.string().min(1).max(1_024).describe('The admin key.') }),
      z.strictObject({ name: z.string().min(1).max(200), password: givenPassword }),
    ],
    { error: PHRASES['field.key-or-password'] },
  )
  .meta({ id: 'SignIn', examples: [{ name: 'ana', password: 'correct horse battery' }] });

const passwordBody = z.strictObject({ currentPassword: givenPassword, newPassword: givenPassword }).meta({
  id: 'NewPassword',
  examples: [{ currentPassword: 'correct horse battery', newPassword: 'staple of the battery' }],
});

const failed = { description: 'The key, or the name and password, are wrong.', schema: problemSchema };
const delayed = { description: 'Too many attempts. See `Retry-After`.', schema: rateLimitSchema };

/** The session of the caller: `/api/session`. */
export function sessionApi(app: App): Endpoint[] {
  const { config, signIn, sessions, users, passwords } = app;
  const common = {
    tag: 'Users',
    path: '/api/session',
    scopes: 'any-key' as const,
    honours: RESTRICTIONS,
  };
  const signedOut = { description: 'Nobody is signed in.', schema: problemSchema };

  return [
    endpoint({
      ...common,
      method: 'get',
      operationId: 'getSession',
      isPolled: true,
      summary: 'Show who calls, and what the caller may do',
      responses: { 200: { description: 'The caller.', schema: dataResponse(callerView) }, 401: signedOut },
      handle: ({ caller }) => ({
        status: 200,
        json: { success: true, data: callerViewOf(caller, CSRF_HEADER) },
      }),
    }),
    endpoint({
      ...common,
      method: 'post',
      operationId: 'signIn',
      scopes: 'public',
      honours: undefined,
      summary: 'Sign a browser in with the admin key, or as a user',
      description: 'The response sets a cookie. With it, each change needs the header `X-Wa2ai-Csrf: 1`.',
      body: signInBody,
      responses: {
        201: { description: 'Signed in.', schema: changedResponse(callerView) },
        401: failed,
        429: delayed,
      },
      handle: async (call) => {
        const { body } = call;
        const request = requestOf(call);
        refuseForeignOrigin(request);
        const from = signInFrom(request, config.publicUrl);
        const result =
          'key' in body
            ? await signIn.withAdminKey(body.key, from)
            : await signIn.withPassword(body.name, body.password, from);
        const begun = signedIn(result, (user) => {
          if (request.res) request.res.locals.objectId = user;
        });
        const { session } = begun;
        const caller: Caller = {
          kind: 'session',
          session: { id: session.id, ...(session.user && { user: session.user }) },
        };
        return {
          status: 201,
          caller,
          object: session.id,
          headers: { 'set-cookie': signInCookies(request, begun, config.publicUrl) },
          json: { success: true, message: 'Signed in.', data: callerViewOf(caller, CSRF_HEADER) },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      operationId: 'signOut',
      summary: 'Sign the browser out',
      responses: {
        200: {
          description: 'The session has ended.',
          schema: z.object({ success: z.literal(true), message: z.string() }),
        },
        401: signedOut,
      },
      handle: async (call) => {
        const { caller } = call;
        const request = requestOf(call);
        if (caller.kind === 'session') await sessions.end(caller.session.id);
        return {
          status: 200,
          headers: { 'set-cookie': endedSessionCookie(request, config.publicUrl) },
          json: { success: true, message: 'Signed out.' },
        };
      },
    }),
    endpoint({
      ...common,
      path: '/api/session/password',
      method: 'put',
      operationId: 'changeOwnPassword',
      summary: "Change one's own password; ends the other sessions",
      body: passwordBody,
      responses: {
        200: {
          description: 'The password is changed.',
          schema: z.object({ success: z.literal(true), message: z.string() }),
        },
        401: { description: 'Nobody is signed in, or the current password is wrong.', schema: problemSchema },
        403: { description: 'The caller is no user.', schema: problemSchema },
        429: delayed,
      },
      handle: async (call) => {
        const { body, caller } = call;
        const own = caller.kind === 'session' ? caller.session : undefined;
        if (!own?.user) throw new HttpProblem(403, 'SCOPE_MISSING', say('problem.only-user-password'));
        const { name } = own.user;
        const user = await users.find(name);
        const { address } = connectionOf(requestOf(call));
        const checked = await signIn.checkPassword({
          ...{ name, user, password: body.currentPassword, address },
          browser: `session:${own.id}`,
        });
        if (checked === 'wrong') throw new HttpProblem(401, 'LOGIN_FAILED', say('problem.wrong-password'));
        if (checked !== 'correct') throw new LoginDelayedProblem(checked.retryAfterMs);
        const passwordHash = await hashedPassword(passwords, body.newPassword, name, 'newPassword');
        await users.change(name, { passwordHash });
        await sessions.endAllOf(name, own.id);
        return {
          status: 200,
          object: name,
          json: { success: true, message: 'Password changed. Your other sessions have ended.' },
        };
      },
    }),
  ];
}

/** The browser that a request comes from. */
export function signInFrom(request: Request, publicUrl: string | undefined): SignInFrom {
  const userAgent = request.get('user-agent');
  const device = deviceOf(request, publicUrl);
  return {
    connection: connectionOf(request),
    ...(userAgent !== undefined && { userAgent }),
    ...(device !== undefined && { device }),
  };
}

/** The `Set-Cookie` values that sign the browser of this request in. */
export function signInCookies(
  request: Request,
  { token, device }: Extract<SignInResult, { kind: 'signed-in' }>,
  publicUrl: string | undefined,
): string[] {
  const session = sessionCookie(request, token, publicUrl);
  return device === undefined ? [session] : [session, deviceCookie(request, device, publicUrl)];
}

/**
 * The session that began.
 * @param onRefused gets the name when it is one of a user
 * @throws {HttpProblem} 401 or 429
 */
export function signedIn(
  result: SignInResult,
  onRefused: (user: string) => void = () => undefined,
): Extract<SignInResult, { kind: 'signed-in' }> {
  if (result.kind === 'signed-in') return result;
  if (result.kind === 'delayed') throw new LoginDelayedProblem(result.retryAfterMs);
  if (result.user !== undefined) onRefused(result.user);
  throw new HttpProblem(401, 'LOGIN_FAILED', say('problem.login-failed'));
}

/** @throws {HttpProblem} 400: it is not a password for this user; 429: too many wait */
export async function hashedPassword(
  passwords: Pick<PasswordHasher, 'hash'>,
  password: string,
  name: string,
  field: string,
): Promise<string> {
  const mistake = passwordProblem(password, name);
  if (mistake !== undefined) throw invalid('body', [mistakeAt(field, mistake)]);
  const hash = await passwords.hash(password);
  if (hash === 'busy') throw new LoginDelayedProblem(2_000);
  return hash;
}

/** Who calls, as `GET /api/session` shows it. */
const callerView = z
  .object({
    kind: z
      .enum(['admin-key', 'user', 'key', 'loopback', 'local-socket'])
      .describe(
        '`admin-key`: WA2AI_API_KEY, also by a session. `user`: a session of a user. `key`: a key of the API. `loopback`: this machine, while no login is set up. `local-socket`: the user of the service, over its Unix socket.',
      ),
    name: z.string().optional().describe('Of the user or the key.'),
    role: z.enum(ROLES).optional().describe('Of the user.'),
    scopes: z.array(z.enum(SCOPES)).describe('What the caller may do.'),
    sessionId: z.string().optional().describe('Of the session, when there is one.'),
    isFirstRun: z
      .boolean()
      .describe(
        'No login is set up: everybody on this machine can do everything. `POST /api/users` adds the owner.',
      ),
    csrfHeader: z.string().describe('With a session, each change needs this header with the value `1`.'),
  })
  .meta({ id: 'SessionCaller' });

/** A session in a list. */
const sessionView = z
  .object({
    id: z.string(),
    kind: z.enum(['admin-key', 'user']),
    user: z.string().optional().describe('Name of the user.'),
    createdAt: timeView,
    lastSeenAt: timeView.describe('Of its last request, to a minute. It ends 12 hours later.'),
    expiresAt: timeView.describe('It ends then in any case.'),
    userAgent: z.string().optional().describe('What the browser says it is.'),
    address: z
      .string()
      .optional()
      .describe('From which it was signed in: of the browser, or of the proxy before it.'),
    isCurrent: z.boolean().describe('It is the session of this call.'),
  })
  .meta({ id: 'Session' });

function sessionViewOf(session: ConsoleSession, caller: Caller) {
  return shown(sessionView, {
    ...session,
    kind: session.user ? 'user' : 'admin-key',
    user: session.user?.name,
    isCurrent: caller.kind === 'session' && caller.session.id === session.id,
  });
}

/** @param caller not a stranger */
function callerViewOf(caller: Caller, csrfHeader: string): z.output<typeof callerView> {
  const common = { scopes: [...scopesOf(caller)], isFirstRun: caller.kind === 'loopback', csrfHeader };
  switch (caller.kind) {
    case 'key':
      return { kind: 'key', name: caller.key.name, ...common };
    case 'session': {
      const { id, user } = caller.session;
      return user
        ? { kind: 'user', name: user.name, role: user.role, sessionId: id, ...common }
        : { kind: 'admin-key', sessionId: id, ...common };
    }
    default:
      if (caller.kind === 'stranger') throw new TypeError('a stranger has no view');
      return { kind: caller.kind, ...common };
  }
}

/** For sessions of others. */
const ADMIN: Admission = { scopes: ['admin'], honours: [] };

const userField = z.string().min(1).max(200).optional();

const listQuery = z.strictObject({
  user: userField.describe('Only sessions of this user. Those of others need the scope `admin`.'),
  ...optionalPageQuery,
});

const endQuery = z.strictObject({
  user: userField.describe("Whose sessions end. Default: the caller's own, except the current one."),
});

/** Browsers that are signed in: `/api/sessions`. Without the scope `admin` one sees and ends one's own. */
export function sessionsApi({ sessions }: App): Endpoint[] {
  const common = { tag: 'Users', scopes: 'any-key' as const, honours: RESTRICTIONS };
  const refused = { description: 'Nobody is signed in.', schema: problemSchema };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/sessions',
      operationId: 'listSessions',
      summary: "List sessions, oldest first: one's own, with the scope admin all",
      query: listQuery,
      responses: {
        200: { description: 'The sessions.', schema: pageResponse(sessionView) },
        401: refused,
      },
      handle: async ({ caller, query }) => {
        const shown = (await visible(caller)).filter(
          ({ user }) => query.user === undefined || (user && userKeyOf(user.name) === userKeyOf(query.user)),
        );
        return {
          status: 200,
          json: pageOfAll(
            shown.map((session) => sessionViewOf(session, caller)),
            query,
            ({ id }) => id,
          ),
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/sessions',
      operationId: 'endSessions',
      summary: 'End all sessions of a user on all nodes, or all own ones but the current one',
      query: endQuery,
      responses: {
        200: {
          description: 'How many have ended.',
          schema: z.object({ success: z.literal(true), message: z.string(), ended: z.int() }),
        },
        401: refused,
      },
      handle: async ({ caller, query: { user } }) => {
        const own = caller.kind === 'session' ? caller.session : undefined;
        const isOwn = user === undefined || (own?.user && userKeyOf(own.user.name) === userKeyOf(user));
        if (!own || !isOwn) admit(caller, ADMIN);
        if (!own && user === undefined) {
          throw new HttpProblem(400, 'INVALID_QUERY', say('problem.name-user'));
        }
        const ended = await sessions.endAllOf(user ?? own?.user?.name, isOwn ? own?.id : undefined);
        return {
          status: 200,
          ...(user !== undefined && { object: user }),
          json: { success: true, message: 'Sessions ended.', ended },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/sessions/{id}',
      operationId: 'endSession',
      summary: 'End a session on all nodes',
      params: { id: 'Id of the session.' },
      responses: {
        200: { description: 'The session that has ended.', schema: changedResponse(sessionView) },
        401: refused,
        404: { description: 'No such session, or one of another user.', schema: problemSchema },
      },
      handle: async ({ caller, params }) => {
        const session = (await visible(caller)).find(({ id }) => id === params.id);
        if (!session || !(await sessions.end(session.id))) {
          throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-session'));
        }
        const data = sessionViewOf(session, caller);
        return { status: 200, json: { success: true, message: 'Session ended.', data } };
      },
    }),
  ];

  async function visible(caller: Caller): Promise<ConsoleSession[]> {
    if (caller.kind !== 'session') admit(caller, ADMIN);
    const all = await sessions.all();
    if (mayDo(caller, 'admin') || caller.kind !== 'session') return all;
    const name = caller.session.user?.name;
    return all.filter(({ user }) => user?.name === name);
  }
}
