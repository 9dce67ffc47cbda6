import type { Request } from 'express';
import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import { MIN_PASSWORD_CHARS } from '../../core/ports/access.ts';
import type { App } from '../../feature.ts';
import type { UserPresence } from '../../infra/operations/access.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { refuseForeignOrigin } from '../../infra/operations/guard.ts';
import { ownPath } from '../../infra/operations/mount.ts';
import { html, page } from '../../infra/operations/page-frame.ts';
import { HttpProblem, LoginDelayedProblem } from '../../infra/operations/problem.ts';
import { type ApiResponse, type Call, requestOf } from '../../infra/operations/response.ts';
import { endedSessionCookie } from '../../infra/operations/session-cookie.ts';
import { hashedPassword, signedIn, signInCookies, signInFrom } from './session-api.ts';
import type { SignInResult } from './sign-in.ts';
import { userNameField } from './users-api.ts';

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
export function loginPages(app: App): Endpoint[] {
  const { config, signIn, sessions, users, presence, passwords } = app;
  const common = { tag: 'Pairing', scopes: 'public' as const };
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
        if (caller.kind === 'loopback') return { status: 303, headers: { location: `.${location}` } };
        const name = body.name?.trim() ?? '';
        const result =
          name === ''
            ? await signIn.withAdminKey(body.key?.trim() ?? '', signInFrom(requestOf(call), config.publicUrl))
            : await signIn.withPassword(
                name,
                body.password ?? '',
                signInFrom(requestOf(call), config.publicUrl),
              );
        return signedInTo(call, result, location, name === '');
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
      handle: (call) =>
        call.caller.kind === 'loopback'
          ? firstRunPage(requestOf(call), 200)
          : { status: 303, headers: { location: './' } },
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
        const request = requestOf(call);
        refuseForeignOrigin(request);
        const home = { status: 303, headers: { location: './' } };
        // Only while nobody needs a login, and then only on this machine.
        if (caller.kind !== 'loopback') return home;
        const name = body.name.trim();
        const problem = userNameField.safeParse(name).error?.issues[0]?.message;
        if (problem !== undefined) return firstRunPage(request, 400, `The name ${problem}.`);
        let passwordHash: string;
        try {
          passwordHash = await hashedPassword(passwords, body.password, name, 'The password');
        } catch (error) {
          if (!(error instanceof HttpProblem)) throw error;
          return firstRunPage(request, error.status, error.message);
        }
        const created = await users.create({ name, role: 'owner', passwordHash });
        await presence.refresh();
        if (typeof created === 'string') return home;
        const result = await signIn.withPassword(
          name,
          body.password,
          signInFrom(requestOf(call), config.publicUrl),
        );
        return { ...signedInTo(call, result, '/', false), object: name };
      },
    }),
  ];

  function signedInTo(
    call: Pick<Call<unknown, unknown>, 'request'>,
    result: SignInResult,
    location: string,
    isByKey: boolean,
  ): ApiResponse {
    const request = requestOf(call);
    try {
      const begun = signedIn(result, (user) => {
        if (request.res) request.res.locals.objectId = user;
      });
      const { session } = begun;
      const cookies = signInCookies(request, begun, config.publicUrl);
      const caller = { kind: 'session' as const, session: { id: session.id, user: session.user } };
      const headers = { location: `.${location}`, 'set-cookie': cookies };
      return { status: 303, caller, object: session.id, headers };
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error;
      const t = LOGIN_TEXTS[languageOf(request)];
      const wrong = isByKey ? t.wrongKey : t.wrong;
      const problem = error instanceof LoginDelayedProblem ? t.delayed(error.retryAfterSeconds) : wrong;
      const shown = loginPage(app, { request, location, problem, status: error.status, isByKey });
      const { status, headers, ...form } = shown;
      if (error instanceof LoginDelayedProblem) {
        return { ...form, status, headers: { ...headers, 'retry-after': String(error.retryAfterSeconds) } };
      }
      return { ...form, status, headers: headers ?? {} };
    }
  }
}

/** What the login form offers: only ways in that exist. */
interface LoginWays {
  config: Pick<Config, 'apiKey'>;
  presence: Pick<UserPresence, 'hasUsers'>;
}

interface LoginForm {
  request: Request;
  /** Where the browser goes after it. */
  location: string;
  problem?: string;
  status?: number;
  /** The admin key was sent. */
  isByKey?: boolean;
}

/** The login form. Its addresses are relative, so that it also works behind a path prefix. */
export function loginPage({ config, presence }: LoginWays, form: LoginForm): ApiResponse {
  const { request, location, problem, status = 401, isByKey = false } = form;
  const language = languageOf(request);
  const t = LOGIN_TEXTS[language];
  const hasKey = config.apiKey !== undefined;
  const hasPasswords = presence.hasUsers;
  const nobody = !hasPasswords && !hasKey && html`<p>${t.noLogin}</p>`;
  const target = html`<input type="hidden" name="page" value="${location}">`;
  const alert = html`<p role="alert" id="problem">${problem}</p>`;
  const keyForm = html`<form method="post" action="login">
<label for="key">${t.key}</label>
<input id="key" name="key" type="password" autocomplete="off" required aria-describedby="key-hint problem"${!hasPasswords && html` autofocus`}>
<p class="faint" id="key-hint">${t.keyHint}</p>
${target}${isByKey && alert}
<button class="${hasPasswords && 'quiet'}">${t.withKey}</button>
</form>`;
  return page({
    status,
    language,
    title: t.logIn,
    main: html`
<h1>${t.logIn}</h1>
<p class="faint">${t.lead}</p>
${nobody}
${
  hasPasswords &&
  html`<form method="post" action="login">
<label for="name">${t.name}</label>
<input id="name" name="name" autocomplete="username" autocapitalize="none" required aria-describedby="problem"${!isByKey && html` autofocus`}>
<label for="password">${t.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required aria-describedby="problem">
${target}${!isByKey && alert}
<button>${t.logIn}</button>
</form>`
}
${hasKey && (hasPasswords ? html`<details${isByKey && html` open`}><summary>${t.withKey}</summary>${keyForm}</details>` : keyForm)}`,
  });
}

function firstRunPage(request: Request, status: number, problem?: string): ApiResponse {
  const language = languageOf(request);
  const t = LOGIN_TEXTS[language];
  return page({
    status,
    language,
    title: t.setUp,
    main: html`
<h1>${t.setUp}</h1>
<p>${t.setUpLead}</p>
<form method="post" action="first-run">
<label for="name">${t.ownerName}</label>
<input id="name" name="name" autocomplete="username" autocapitalize="none" required autofocus aria-describedby="problem">
<label for="password">${t.ownerPassword}</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${MIN_PASSWORD_CHARS}" required aria-describedby="problem">
<p role="alert" id="problem">${problem}</p>
<button>${t.addOwner}</button>
</form>
<p><a href="./">${t.without}</a></p>`,
  });
}

/** Languages of the pages before the console, whose choice of a language only the console can read. */
const LANGUAGES = ['en', 'es', 'pt'] as const;
type PageLanguage = (typeof LANGUAGES)[number];

/** The language that the browser prefers. */
export function languageOf(request: Pick<Request, 'acceptsLanguages'>): PageLanguage {
  const found = request.acceptsLanguages(...LANGUAGES);
  return LANGUAGES.find((language) => language === found) ?? 'en';
}

/** Texts of the pages where people sign in. */
export const LOGIN_TEXTS = {
  en: {
    logIn: 'Log in',
    lead: 'The console of this wa2ai service.',
    name: 'Name',
    password: 'Password',
    withKey: 'Log in with the admin key',
    key: 'Admin key',
    keyHint: 'The value of WA2AI_API_KEY, or what is in its file.',
    wrong: 'The name or the password is wrong, or the user is disabled.',
    wrongKey: 'The admin key is wrong.',
    delayed: (seconds: number) => `Too many attempts. Try again in ${seconds} s.`,
    noLogin:
      'Nobody can log in yet: wa2ai has no owner and answers only browsers on the same machine, but this request came through a proxy. Set WA2AI_API_KEY, or open /first-run in a browser on that machine.',
    setUp: 'Set up a login',
    setUpLead:
      'wa2ai accepts calls from this machine only, and every program on it can do everything. With an owner, the console and the API need a login or a key.',
    ownerName: 'Name of the owner',
    ownerPassword: `Password, at least ${MIN_PASSWORD_CHARS} characters`,
    addOwner: 'Add the owner',
    without: 'Continue without a login',
    notAllowed: 'Not allowed',
    notAllowedLead: 'Your role does not allow this page.',
    toConsole: 'To the console',
    logOut: 'Log out',
  },
  es: {
    logIn: 'Iniciar sesión',
    lead: 'La consola de este servicio wa2ai.',
    name: 'Nombre',
    password: 'Contraseña',
    withKey: 'Entrar con la clave de administración',
    key: 'Clave de administración',
    keyHint: 'El valor de WA2AI_API_KEY, o lo que contiene su archivo.',
    wrong: 'El nombre o la contraseña no son correctos, o el usuario está desactivado.',
    wrongKey: 'La clave de administración no es correcta.',
    delayed: (seconds: number) => `Demasiados intentos. Inténtelo de nuevo en ${seconds} s.`,
    noLogin:
      'Todavía nadie puede iniciar sesión: wa2ai responde solo a navegadores de su propio equipo, y esta petición llegó a través de un proxy. Defina WA2AI_API_KEY o abra /first-run en un navegador de ese equipo.',
    setUp: 'Configurar un acceso',
    setUpLead:
      'wa2ai acepta llamadas solo de este equipo, y cualquier programa de él puede hacerlo todo. Con un propietario, la consola y la API necesitan una sesión o una clave.',
    ownerName: 'Nombre del propietario',
    ownerPassword: `Contraseña, al menos ${MIN_PASSWORD_CHARS} caracteres`,
    addOwner: 'Añadir el propietario',
    without: 'Continuar sin acceso',
    notAllowed: 'No permitido',
    notAllowedLead: 'Su rol no permite esta página.',
    toConsole: 'A la consola',
    logOut: 'Cerrar sesión',
  },
  pt: {
    logIn: 'Entrar',
    lead: 'O console deste serviço wa2ai.',
    name: 'Nome',
    password: 'Senha',
    withKey: 'Entrar com a chave de administração',
    key: 'Chave de administração',
    keyHint: 'O valor de WA2AI_API_KEY, ou o que o arquivo dela contém.',
    wrong: 'O nome ou a senha estão errados, ou o usuário está desativado.',
    wrongKey: 'A chave de administração está errada.',
    delayed: (seconds: number) => `Tentativas demais. Tente de novo em ${seconds} s.`,
    noLogin:
      'Ninguém pode entrar ainda: o wa2ai não tem proprietário e só responde a navegadores da mesma máquina, mas esta solicitação veio por um proxy. Defina WA2AI_API_KEY ou abra /first-run em um navegador dessa máquina.',
    setUp: 'Configurar um acesso',
    setUpLead:
      'O wa2ai só aceita chamadas desta máquina, e qualquer programa dela pode fazer tudo. Com um proprietário, o console e a API exigem uma sessão ou uma chave.',
    ownerName: 'Nome do proprietário',
    ownerPassword: `Senha, pelo menos ${MIN_PASSWORD_CHARS} caracteres`,
    addOwner: 'Adicionar o proprietário',
    without: 'Continuar sem acesso',
    notAllowed: 'Não permitido',
    notAllowedLead: 'Seu papel não permite abrir esta página.',
    toConsole: 'Para o console',
    logOut: 'Sair',
  },
} as const satisfies Record<PageLanguage, unknown>;
