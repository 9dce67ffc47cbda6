import type { Request } from 'express';
import { SESSION_MAX_MS } from '../../../core/ports/console-sessions.ts';

const NAME = 'wa2ai_session';

/** The token of the session that the browser sends; undefined: none. */
export function sessionTokenOf(request: Request): string | undefined {
  const cookies = (request.get('cookie') ?? '').split(';').map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${NAME}=`))?.slice(NAME.length + 1) || undefined;
}

/** The `Set-Cookie` value that signs the browser of this request in. */
export function sessionCookie(request: Request, token: string, publicUrl: string | undefined): string {
  return `${NAME}=${token}; Max-Age=${SESSION_MAX_MS / 1_000}; ${attributes(request, publicUrl)}`;
}

/** The `Set-Cookie` value that signs the browser of this request out. */
export function endedSessionCookie(request: Request, publicUrl: string | undefined): string {
  return `${NAME}=; Max-Age=0; ${attributes(request, publicUrl)}`;
}

/**
 * `Strict`: no other site can make a browser send it. The browser names the scheme and host that it uses in `Origin`, also
 * behind a proxy; the path of the public URL applies to its own host only.
 */
function attributes(request: Request, publicUrl: string | undefined): string {
  const url = publicUrl === undefined ? undefined : new URL(publicUrl);
  const origin = request.get('origin');
  const isPublic = origin === undefined ? request.get('host') === url?.host : origin === url?.origin;
  const isHttps = origin === undefined ? isPublic && url?.protocol === 'https:' : /^https:/i.test(origin);
  const path = (isPublic && url?.pathname) || '/';
  return `Path=${path}; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`;
}
