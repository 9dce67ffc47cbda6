import type { Request } from 'express';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { RESTRICTIONS } from '../../core/access/admission.ts';
import type { Caller } from '../../core/access/caller.ts';
import { passwordProblem } from '../../core/access/password-problem.ts';
import type { ConsoleSessions } from '../../core/ports/console-sessions.ts';
import type { ConsoleUsers } from '../../core/ports/console-users.ts';
import { CSRF_HEADER, refuseForeignOrigin } from '../../infra/operations/cross-site.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { changedResponse, dataResponse } from '../../infra/operations/fields.ts';
import { connectionOf } from '../../infra/operations/guard.ts';
import {
  HttpProblem,
  LoginDelayedProblem,
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
import type { PasswordHasher } from './password-hasher.ts';
import { callerView, callerViewOf } from './session-view.ts';
import type { SignIn, SignInFrom, SignInResult } from './sign-in.ts';

export interface SessionApiDeps {
  config: Pick<Config, 'publicUrl'>;
  signIn: Pick<SignIn, 'withAdminKey' | 'withPassword' | 'checkPassword'>;
  sessions: Pick<ConsoleSessions, 'all' | 'end' | 'endAllOf'>;
  users: Pick<ConsoleUsers, 'find' | 'change'>;
  passwords: Pick<PasswordHasher, 'hash'>;
}

/** A password that somebody sends, of any length that can be one. */
const givenPassword = z.string().min(1).max(1_024);

const signInBody = z
  .union(
    [
      z.strictObject({ key: z.string().min(1).max(1_024).describe('The admin key.') }),
      z.strictObject({ name: z.string().min(1).max(200), password: givenPassword }),
    ],
    { error: 'must have either key, or name and password' },
  )
  .meta({ id: 'SignIn', examples: [{ name: 'ana', password: 'correct horse battery' }] });

const passwordBody = z.strictObject({ currentPassword: givenPassword, newPassword: givenPassword }).meta({
  id: 'NewPassword',
  examples: [{ currentPassword: 'correct horse battery', newPassword: 'staple of the battery' }],
});

const failed = { description: 'The key, or the name and password, are wrong.', schema: problemSchema };
const delayed = { description: 'Too many attempts. See `Retry-After`.', schema: rateLimitSchema };

/** The session of the caller: `/api/session`. */
export function sessionApi(deps: SessionApiDeps): Endpoint[] {
  const { config, signIn, sessions, users, passwords } = deps;
  const common = {
    tag: 'Users' as const,
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
        if (!own?.user)
          throw new HttpProblem(403, 'SCOPE_MISSING', 'Only a user has a password: sign in as one.');
        const { name } = own.user;
        const user = await users.find(name);
        const { address } = connectionOf(requestOf(call));
        const checked = await signIn.checkPassword({
          ...{ name, user, password: body.currentPassword, address },
          browser: `session:${own.id}`,
        });
        if (checked === 'wrong') throw new HttpProblem(401, 'LOGIN_FAILED', 'The current password is wrong.');
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
  throw new HttpProblem(401, 'LOGIN_FAILED', 'The key, or the name and password, are wrong.');
}

/** @throws {HttpProblem} 400: it is no password for this user; 429: too many wait */
export async function hashedPassword(
  passwords: Pick<PasswordHasher, 'hash'>,
  password: string,
  name: string,
  field: string,
): Promise<string> {
  const message = passwordProblem(password, name);
  if (message !== undefined) {
    throw new HttpProblem(400, 'INVALID_BODY', `${field} ${message}.`, [{ field, message }]);
  }
  const hash = await passwords.hash(password);
  if (hash === 'busy') throw new LoginDelayedProblem(2_000);
  return hash;
}
