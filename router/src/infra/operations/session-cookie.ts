import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { SESSION_MAX_MS } from '../../core/ports/access.ts';

const NAME = 'wa2ai_session';
/**
 * Over https. `__Host-`: only a page of exactly this host can have set it, over https and for the whole host, and no other
 * port or subdomain. A path prefix of the public URL allows `__Secure-` only, which at least keeps http out.
 */
const PREFIXES = ['__Host-', '__Secure-'] as const;

/**
 * The tokens of sessions that the browser sends, in any order; more than one: another site of this host may have set one.
 * Over https, only those count that only https can set.
 */
export function sessionTokensOf(request: Request, publicUrl: string | undefined): string[] {
  return cookiesOf(request, NAME, publicUrl);
}

/** The `Set-Cookie` value that signs the browser of this request in. */
export function sessionCookie(request: Request, token: string, publicUrl: string | undefined): string {
  return cookie(request, publicUrl, NAME, token, SESSION_MAX_MS / 1_000);
}

/** The `Set-Cookie` value that signs the browser of this request out. */
export function endedSessionCookie(request: Request, publicUrl: string | undefined): string {
  return cookie(request, publicUrl, NAME, '', 0);
}

const DEVICE = 'wa2ai_device';
const DEVICE_MAX_AGE_S = 180 * 86_400;

/** By which the browser shows that somebody signed in with it before. */
export function deviceOf(request: Request, publicUrl: string | undefined): string | undefined {
  const found = cookiesOf(request, DEVICE, publicUrl);
  return found.length === 1 ? found[0] : undefined;
}

/** The `Set-Cookie` value of `deviceOf`. */
export function deviceCookie(request: Request, device: string, publicUrl: string | undefined): string {
  return cookie(request, publicUrl, DEVICE, device, DEVICE_MAX_AGE_S);
}

function cookiesOf(request: Request, name: string, publicUrl: string | undefined): string[] {
  const cookies = (request.get('cookie') ?? '').split(';').map((each) => each.trim());
  const named = (prefix: string) =>
    cookies.flatMap((each) =>
      each.startsWith(`${prefix}${name}=`) ? [each.slice(prefix.length + name.length + 1)] : [],
    );
  const secure = PREFIXES.flatMap(named);
  return secure.length > 0 || isHttps(request, publicUrl) ? secure : named('');
}

/**
 * `Strict`: no other site can make a browser send it. The path of the public URL applies to its own host only.
 */
function cookie(
  request: Request,
  publicUrl: string | undefined,
  name: string,
  value: string,
  maxAgeS: number,
): string {
  const path = pathOf(request, publicUrl);
  const isSecure = isHttps(request, publicUrl);
  const [host, secure] = PREFIXES;
  const prefix = !isSecure ? '' : path === '/' ? host : secure;
  return `${prefix}${name}=${value}; Max-Age=${maxAgeS}; Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

/**
 * Whether the browser uses https: it names scheme and host in `Origin`, also behind a proxy; without one, the proxy or the
 * public URL says it. A request that claims https wrongly has fewer cookies that count.
 */
function isHttps(request: Request, publicUrl: string | undefined): boolean {
  const origin = request.get('origin');
  if (origin !== undefined) return /^https:/i.test(origin);
  const forwarded = request.get('x-forwarded-proto') ?? request.get('forwarded') ?? '';
  if (/^https$|proto="?https/i.test(forwarded.trim())) return true;
  return isPublic(request, publicUrl) && new URL(publicUrl ?? '').protocol === 'https:';
}

function pathOf(request: Request, publicUrl: string | undefined): string {
  return isPublic(request, publicUrl) ? new URL(publicUrl ?? '').pathname : '/';
}

function isPublic(request: Request, publicUrl: string | undefined): boolean {
  if (publicUrl === undefined) return false;
  const url = new URL(publicUrl);
  const origin = request.get('origin');
  return origin === undefined ? request.get('host') === url.host : origin === url.origin;
}

const TOKEN_BYTES = 32;
const ID_BYTES = 9;
const TOKEN_TEXT = /^[\w-]{43}$/;

/** A new session: the token of its cookie, which only the browser keeps, and its id. */
export function newSessionToken(): { id: string; token: string } {
  return {
    id: randomBytes(ID_BYTES).toString('base64url'),
    token: randomBytes(TOKEN_BYTES).toString('base64url'),
  };
}

/** Whether the text of a cookie can be a token. */
export function isSessionToken(text: string): boolean {
  return TOKEN_TEXT.test(text);
}

/** What is stored of a token. It is random, so that a fast hash protects it. */
export function sessionTokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Binds a session to the admin key with which it began. Nobody can guess the key from it, because the token is not
 * stored.
 */
export function adminKeyMac(adminKey: string, token: string): Buffer {
  return createHmac('sha256', adminKey).update(`wa2ai session ${token}`).digest();
}

/**
 * What a browser keeps to show that this user signed in with it. Nothing of it is stored: it is a code of the stored hash of
 * the password, so that it ends with the password. It allows nothing but attempts that have a count of their own.
 */
export function newDevice(name: string, passwordHash: string): string {
  const id = randomBytes(ID_BYTES).toString('base64url');
  return `${id}.${deviceMac(id, name, passwordHash)}`;
}

/** The id of the browser; undefined: this user never signed in with it, or had another password. */
export function deviceIdOf(device: string, name: string, passwordHash: string): string | undefined {
  const [id = '', mac = ''] = device.split('.');
  const expected = Buffer.from(deviceMac(id, name, passwordHash));
  const given = Buffer.from(mac);
  return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
}

function deviceMac(id: string, name: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`wa2ai device ${id} ${name}`).digest('base64url');
}
