import { z } from 'zod';
import type { Config } from '../../../config/config.ts';
import { MIN_PASSWORD_CHARS } from '../../../core/access/password-problem.ts';
import type { ConsoleSessions } from '../../../core/ports/console-sessions.ts';
import type { ConsoleUsers } from '../../../core/ports/console-users.ts';
import type { PasswordHasher } from '../../../core/ports/password-hasher.ts';
import type { SignIn, SignInFrom, SignInResult } from '../access/sign-in.ts';
import type { UserPresence } from '../access/user-presence.ts';
import { refuseForeignOrigin } from '../rest/cross-site.ts';
import { type Endpoint, endpoint } from '../rest/endpoint.ts';
import { connectionOf } from '../rest/guard.ts';
import { HttpProblem, LoginDelayedProblem } from '../rest/problem.ts';
import { hashedPassword, signedIn } from '../rest/resources/session-api.ts';
import { userNameField } from '../rest/resources/users-api.ts';
import { type ApiResponse, type Call, requestOf } from '../rest/response.ts';
import { endedSessionCookie, sessionCookie } from '../rest/session-cookie.ts';
import { html } from './html.ts';
import { ownPath } from './own-path.ts';
import { page } from './page-frame.ts';

export interface LoginPagesDeps {
  config: Pick<Config, 'publicUrl'>;
  signIn: Pick<SignIn, 'withAdminKey' | 'withPassword'>;
  sessions: Pick<ConsoleSessions, 'end'>;
  users: Pick<ConsoleUsers, 'create'>;
  presence: Pick<UserPresence, 'refresh'>;
  passwords: Pick<PasswordHasher, 'hash'>;
}

const secret = z.string().max(1_024).optional();

const loginBody = z.object({
  key: secret,
  name: z.string().max(200).optional(),
  password: secret,
  page: secret,
});

const ownerBody = z.object({ name: z.string().max(200), password: z.string().max(1_024) });

const htmlPage = { description: 'The page.', contentType: 'text/html' };

/** Where people sign in and out, and where the first owner is added: `/login`, `/logout`, `/first-run`. */
export function loginPages(deps: LoginPagesDeps): Endpoint[] {
  const { config, signIn, sessions, users, presence, passwords } = deps;
  const common = { tag: 'Pairing' as const, scopes: 'public' as const };
  const form = {
    bodyType: 'application/x-www-form-urlencoded' as const,
    isBodyOptional: true,
    isPageForm: true as const,
  };
  const refused = { description: 'Wrong, with the form.', contentType: 'text/html' };

  return [
    endpoint({
      ...common,
      method: 'post',
      path: '/login',
      operationId: 'login',
      summary: 'Sign a browser in with the admin key, or as a user',
      body: loginBody,
      ...form,
      responses: { 303: { description: 'Signed in. Redirects to the page.' }, 401: refused, 429: refused },
      handle: async (call) => {
        const { body, caller } = call;
        const location = ownPath(body.page, '/qr');
        refuseForeignOrigin(requestOf(call));
        if (caller.kind === 'loopback') return { status: 303, headers: { location: relative(location) } };
        const name = body.name?.trim() ?? '';
        const result =
          name === ''
            ? await signIn.withAdminKey(body.key?.trim() ?? '', fromOf(call))
            : await signIn.withPassword(name, body.password ?? '', fromOf(call));
        return signedInTo(call, result, location);
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/logout',
      operationId: 'logout',
      summary: 'Sign a browser out',
      isPageForm: true,
      responses: { 303: { description: 'Signed out. Redirects to the login form.' } },
      handle: async (call) => {
        const { caller } = call;
        const request = requestOf(call);
        refuseForeignOrigin(request);
        if (caller.kind === 'session') await sessions.end(caller.session.id);
        const cookie = endedSessionCookie(request, config.publicUrl);
        return { status: 303, headers: { location: './', 'set-cookie': cookie } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/first-run',
      operationId: 'showFirstRun',
      summary: 'Page that adds the first owner, for a browser on this machine',
      responses: { 200: htmlPage, 303: { description: 'A login exists. Redirects to `/`.' } },
      handle: ({ caller }) =>
        caller.kind === 'loopback' ? firstRunPage(200) : { status: 303, headers: { location: './' } },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/first-run',
      operationId: 'addFirstOwner',
      summary: 'Add the first owner and sign the browser in',
      body: ownerBody,
      ...form,
      isBodyOptional: false,
      responses: {
        303: { description: 'Added, or a login exists already. Redirects to `/`.' },
        400: { description: 'Not a name or password, with the form.', contentType: 'text/html' },
      },
      handle: async (call) => {
        const { body, caller } = call;
        const home = { status: 303, headers: { location: './' } };
        // Only while nobody needs a login, and then only on this machine.
        if (caller.kind !== 'loopback') return home;
        const name = body.name.trim();
        const problem = userNameField.safeParse(name).error?.issues[0]?.message;
        if (problem !== undefined) return firstRunPage(400, `The name ${problem}.`);
        let passwordHash: string;
        try {
          passwordHash = await hashedPassword(passwords, body.password, name, 'The password');
        } catch (error) {
          if (!(error instanceof HttpProblem)) throw error;
          return firstRunPage(error.status, error.message);
        }
        const created = await users.create({ name, role: 'owner', passwordHash });
        await presence.refresh();
        if (typeof created === 'string') return home;
        const result = await signIn.withPassword(name, body.password, fromOf(call));
        return { ...signedInTo(call, result, '/'), object: name };
      },
    }),
  ];

  function signedInTo(
    call: Pick<Call<unknown, unknown>, 'request'>,
    result: SignInResult,
    location: string,
  ): ApiResponse {
    const request = requestOf(call);
    try {
      const { token, session } = signedIn(result, (user) => {
        if (request.res) request.res.locals.objectId = user;
      });
      const cookie = sessionCookie(request, token, config.publicUrl);
      const caller = { kind: 'session' as const, session: { id: session.id, user: session.user } };
      return {
        status: 303,
        caller,
        object: session.id,
        headers: { location: relative(location), 'set-cookie': cookie },
      };
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error;
      const { status, headers, ...form } = loginPage(location, error.message, error.status);
      if (error instanceof LoginDelayedProblem) {
        return { ...form, status, headers: { ...headers, 'retry-after': String(error.retryAfterSeconds) } };
      }
      return { ...form, status, headers: headers ?? {} };
    }
  }
}

function fromOf(call: Pick<Call<unknown, unknown>, 'request'>): SignInFrom {
  const request = requestOf(call);
  const userAgent = request.get('user-agent');
  return { connection: connectionOf(request), ...(userAgent !== undefined && { userAgent }) };
}

/** A path of wa2ai as seen from `/login` and its neighbours, so that it also works behind a path prefix. */
function relative(path: string): string {
  return `.${path}`;
}

/** The login form; after it the browser goes to `location`. */
export function loginPage(location: string, problem?: string, status = 401): ApiResponse {
  return page({
    status,
    title: 'Log in',
    main: html`
<h1>Log in</h1>
<form method="post" action="login">
<label for="name">Name</label>
<input id="name" name="name" autocomplete="username" autocapitalize="none" required autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<input type="hidden" name="page" value="${location}">
<button>Log in</button>
</form>
<form method="post" action="login">
<label for="key">Or the admin key: the value of WA2AI_API_KEY, or what is in its file</label>
<input id="key" name="key" type="password" autocomplete="off" required>
<input type="hidden" name="page" value="${location}">
<button class="quiet">Log in with the admin key</button>
</form>
<p role="alert">${problem}</p>`,
  });
}

function firstRunPage(status: number, problem?: string): ApiResponse {
  return page({
    status,
    title: 'Set up a login',
    main: html`
<h1>Set up a login</h1>
<p>wa2ai accepts calls from this machine only, and every program on it can do everything. With an owner, the console and the API need a login or a key.</p>
<form method="post" action="first-run">
<label for="name">Name of the owner</label>
<input id="name" name="name" autocomplete="username" autocapitalize="none" required autofocus>
<label for="password">Password, at least ${MIN_PASSWORD_CHARS} characters</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${MIN_PASSWORD_CHARS}" required>
<button>Add the owner</button>
</form>
<p role="alert">${problem}</p>
<p><a href="./">Go on without a login</a></p>`,
  });
}
