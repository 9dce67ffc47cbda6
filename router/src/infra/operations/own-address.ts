import type { Request } from 'express';

/**
 * The way from the address of a request to that of wa2ai, `../` or `./`: a reference that begins with it stays inside of wa2ai
 * when a proxy has removed a prefix from the path.
 */
export function homeOf({ path }: Pick<Request, 'path'>): string {
  return '../'.repeat(Math.max(0, path.split('/').length - 2)) || './';
}

/** A path of wa2ai, `/api/routes`, as a reference that is relative to the address of the request. */
export function relativePath(request: Pick<Request, 'path'>, path: string): string {
  return `${homeOf(request)}${path.slice(1)}`;
}

/**
 * The address under which the caller reached wa2ai, without a slash at its end: the public URL, with its path, when the request
 * names its host; else scheme and host as the caller, or a proxy that ends TLS, says them.
 */
export function baseUrlOf(request: Pick<Request, 'get'>, publicUrl: string | undefined): string {
  const named = request.get('host') ?? '';
  const host = /^[\w.:[\]-]{1,255}$/.test(named) ? named : 'localhost';
  if (publicUrl !== undefined && new URL(publicUrl).host === host) return publicUrl;
  const proto = request.get('x-forwarded-proto') === 'https' ? 'https' : 'http';
  return `${proto}://${host}`;
}

const HERE = 'http://wa2ai.invalid';

/** The path, if it is one of wa2ai itself; otherwise the other one. A browser must not be sent to another site. */
export function ownPath(path: string | undefined, otherwise: string): string {
  // Browsers read `//host` and `/\host` as another host, and ignore tabs and line ends.
  if (path === undefined || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path)) return otherwise;
  return URL.canParse(path, HERE) && new URL(path, HERE).origin === HERE ? path : otherwise;
}
