import { createHmac } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import type { Config } from '../../../config/config.ts';
import { isLoopbackHost } from '../../../config/config-fields.ts';
import { type Caller, mayDo } from '../../../core/access/caller.ts';
import type { Scope } from '../../../core/access/scopes.ts';
import type { RateLimiter } from '../../../core/ports/rate-limiter.ts';
import type { Access, Connection } from '../access/access.ts';
import { isSame } from '../access/key-text.ts';
import type { Endpoint } from './endpoint.ts';
import { isForm } from './form.ts';
import { limitRequest } from './limits.ts';
import { HttpProblem } from './problem.ts';
import { isYaml } from './yaml.ts';

const SESSION_COOKIE = 'wa2ai_session';
const SESSION_HOURS = 12;
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export interface GuardDeps {
  config: Pick<Config, 'host' | 'apiKey'>;
  access: Access;
  limiter: RateLimiter;
  /** Epoch milliseconds. */
  now(): number;
}

/**
 * Determines the caller of each request and refuses those that must not reach a handler. Always: a wrong key, and writes
 * under /api whose body is not JSON, which a cross-site form could send. With an admin key configured: every request
 * without a key, except to public paths. Without one, on loopback: a foreign Host (DNS rebinding), a foreign Origin and
 * cross-site writes (a web page in the same browser). A request of a key over its limits.
 */
export function guard(deps: GuardDeps): (path: { isPublic: boolean }) => RequestHandler {
  const { config, access, limiter } = deps;
  return ({ isPublic }) =>
    async (request, response, next) => {
      const key = keyOf(request);
      const caller: Caller =
        key === undefined && config.apiKey !== undefined && hasSession(request, config.apiKey, deps.now())
          ? { kind: 'session' }
          : await access.callerOf(key, connectionOf(request));
      response.locals.caller = caller;
      if (caller.kind === 'loopback') refuseForeignHost(request, config);
      if (caller.kind === 'loopback' || caller.kind === 'session') refuseForeignOrigin(request);
      if (caller.kind === 'stranger' && !isPublic) {
        response.set('WWW-Authenticate', 'Bearer realm="wa2ai"');
        throw new HttpProblem(401, 'UNAUTHORIZED', REFUSALS[caller.refusal ?? 'none']);
      }
      if (caller.kind === 'key' && !isPublic) await limitRequest(limiter, caller.key, response);
      if (WRITES.has(request.method) && request.path.startsWith('/api/')) {
        const operation = response.locals.operation as Endpoint | undefined;
        const isOther =
          (operation?.form !== undefined && isForm(request)) || (operation?.takesYaml && isYaml(request));
        if (!isOther) refuseOtherThanJson(request);
      }
      next();
    };
}

/** Why a stranger is refused, as a sentence. */
export const REFUSALS = {
  none: 'Send a key as X-API-Key or as Authorization: Bearer.',
  unknown: 'The key is not known: it is wrong, or it was revoked.',
  expired: 'The key has expired. Ask an admin for a new one.',
};

/** Refuses a caller who lacks a scope. */
export function authorize(scopes: readonly Scope[]): RequestHandler {
  return (_request, response, next) => {
    refuseWithoutScopes(response.locals.caller, scopes);
    next();
  };
}

/** @throws {HttpProblem} 403: the caller lacks one of the scopes */
export function refuseWithoutScopes(caller: Caller, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !mayDo(caller, scope));
  if (missing === undefined) return;
  throw new HttpProblem(403, 'SCOPE_MISSING', `The key lacks the scope ${missing}.`);
}

/** Where a request comes from: the address of the proxy, if there is one. */
export function connectionOf({ socket }: Request): Connection {
  return { address: socket.remoteAddress ?? 'unknown', socket };
}

function keyOf(request: Request): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(request.get('authorization') ?? '')?.[1];
  return request.get('x-api-key') || bearer;
}

function refuseForeignHost(request: Request, config: Pick<Config, 'host'>): void {
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
