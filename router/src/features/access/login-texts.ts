import type { Request } from 'express';
import { MIN_PASSWORD_CHARS } from '../../core/access/password-problem.ts';

/** Languages of the pages before the console, whose choice of a language only the console can read. */
const LANGUAGES = ['en', 'es'] as const;
export type PageLanguage = (typeof LANGUAGES)[number];

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
      'Nobody can log in yet: wa2ai answers only browsers of its own machine, and this request came through a proxy. Set WA2AI_API_KEY, or open /first-run in a browser of that machine.',
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
} as const satisfies Record<PageLanguage, unknown>;
