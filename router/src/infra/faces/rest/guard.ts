import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import type { Config } from '../../../config/config.ts';
import { isLoopbackHost } from '../../../config/config-fields.ts';
import { HttpProblem } from './problem.ts';
import type { Caller } from './response.ts';

const SESSION_COOKIE = 'wa2ai_session';
const SESSION_HOURS = 12;
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export type GuardConfig = Pick<Config, 'host' | 'apiKey'>;

/** Whether the text equals the secret. The time does not depend on where they differ. */
export function isSame(given: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** Determines who calls. Never throws. */
export function callerOf(request: Request, config: GuardConfig, nowMs: number): Caller {
  if (config.apiKey === undefined) return 'loopback';
  const given = keyOf(request);
  if (given !== undefined) return isSame(given, config.apiKey) ? 'key' : 'stranger';
  return hasSession(request, config.apiKey, nowMs) ? 'session' : 'stranger';
}

/**
 * Refuses requests that must not reach a handler. With a key configured: every request without it, except to public
 * paths. Without a key, on loopback: a foreign Host (DNS rebinding), a foreign Origin and cross-site writes (a web page
 * in the same browser). Always: writes under /api whose body is not JSON, which a cross-site form could send.
 */
export function guard(config: GuardConfig, options: { isPublic: boolean; now(): number }): RequestHandler {
  return (request, response, next) => {
    const caller = callerOf(request, config, options.now());
    response.locals.caller = caller;
    if (caller === 'loopback') refuseForeignHost(request, config);
    if (caller === 'loopback' || caller === 'session') refuseForeignOrigin(request);
    if (caller === 'stranger' && !options.isPublic) {
      response.set('WWW-Authenticate', 'Bearer realm="wa2ai"');
      throw new HttpProblem(
        401,
        'UNAUTHORIZED',
        'Send the admin key as X-API-Key or as Authorization: Bearer.',
      );
    }
    if (WRITES.has(request.method) && request.path.startsWith('/api/')) refuseOtherThanJson(request);
    next();
  };
}

function keyOf(request: Request): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(request.get('authorization') ?? '')?.[1];
  return request.get('x-api-key') ?? bearer;
}

function refuseForeignHost(request: Request, config: GuardConfig): void {
  const host = hostnameOf(`http://${request.get('host') ?? ''}`);
  if (host !== undefined && (isLoopbackHost(host) || host === config.host.toLowerCase())) return;
  throw new HttpProblem(
    403,
    'FOREIGN_HOST',
    'Without an admin key wa2ai accepts only requests to localhost or 127.0.0.1. Set WA2AI_API_KEY to use other names.',
  );
}

/** Refuses requests made by a page of another site, or of another port of this machine. */
export function refuseForeignOrigin(request: Request): void {
  const origin = request.get('origin');
  const isOwn = origin === undefined || originHost(origin) === request.get('host')?.toLowerCase();
  const isCrossSiteWrite = WRITES.has(request.method) && request.get('sec-fetch-site') === 'cross-site';
  if (isOwn && !isCrossSiteWrite) return;
  throw new HttpProblem(403, 'FOREIGN_ORIGIN', 'Pages of other sites may not call wa2ai.');
}

function refuseOtherThanJson(request: Request): void {
  const type = request.get('content-type');
  const hasBody =
    Number(request.get('content-length') ?? 0) > 0 || request.get('transfer-encoding') !== undefined;
  if (type === undefined ? !hasBody : /^application\/json *(;|$)/i.test(type)) return;
  throw new HttpProblem(
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'The body must be JSON: send Content-Type: application/json.',
  );
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase() : undefined;
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : undefined;
}

/** The `Set-Cookie` value that logs a browser in: an end time with a MAC under the key. A new key ends all sessions. */
export function sessionCookie(apiKey: string, nowMs: number): string {
  const endsAt = String(nowMs + SESSION_HOURS * 3_600_000);
  const value = `${endsAt}.${macOf(apiKey, endsAt)}`;
  return `${SESSION_COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_HOURS * 3600}`;
}

/** The `Set-Cookie` value that logs a browser out. */
export const ENDED_SESSION_COOKIE = `${SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function hasSession(request: Request, apiKey: string, nowMs: number): boolean {
  const cookies = (request.get('cookie') ?? '').split(';').map((cookie) => cookie.trim());
  const value = cookies
    .find((cookie) => cookie.startsWith(`${SESSION_COOKIE}=`))
    ?.slice(SESSION_COOKIE.length + 1);
  const [, endsAt, mac] = /^(\d{1,15})\.([\w-]+)$/.exec(value ?? '') ?? [];
  return (
    endsAt !== undefined && mac !== undefined && isSame(mac, macOf(apiKey, endsAt)) && Number(endsAt) > nowMs
  );
}

function macOf(apiKey: string, endsAt: string): string {
  return createHmac('sha256', apiKey).update(`wa2ai page session ${endsAt}`).digest('base64url');
}
