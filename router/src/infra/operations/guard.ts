import type { Socket } from 'node:net';
import type { Request, RequestHandler, Response } from 'express';
import type { Config } from '../../config/config.ts';
import { isLoopbackHost } from '../../config/config-fields.ts';
import {
  type Admission,
  type Caller,
  OWN_REQUEST_HEADER,
  type Restriction,
  refusalOf,
} from '../../core/access/caller.ts';
import { type Said, say } from '../../core/phrases.ts';
import { type LimitResult, type RateLimiter, WINDOWS } from '../../core/ports/access.ts';
import type { ApiKey, KeyLimits } from '../../core/ports/api-key-store.ts';
import type { Access, Connection } from './access.ts';
import type { Endpoint } from './endpoint.ts';
import { isForm, isYaml } from './form.ts';
import { HttpProblem, OpenRequestsProblem, type ProblemCode, RateLimitProblem } from './problem.ts';
import { sessionTokensOf } from './session-cookie.ts';

interface GuardDeps {
  config: Pick<Config, 'host'> & Partial<Pick<Config, 'publicUrl'>>;
  access: Access;
  limiter: RateLimiter;
  /** Whether a connection came over the Unix socket, which only the user of the service can open. */
  isLocal(socket: Socket): boolean;
  /** Default: one of its own. */
  strangerBodies?: StrangerBodies;
}

/**
 * Determines the caller of each request and refuses those that must not reach a handler. Always: a caller whom the operation
 * does not admit, a large body of somebody unknown, and writes under /api whose body is not JSON, which a cross-site form
 * could send. With a session: a change that no page of wa2ai sends. Without any login, on loopback: a foreign Host (DNS rebinding), a foreign Origin and cross-site writes (a web page in the same browser). A
 * request of a key over its limits. A request over the Unix socket needs no key; with one it has that key's rights.
 * A request that a proxy forwarded, or that wa2ai itself sent, is neither one of this machine nor one of the Unix socket.
 */
export function guard(deps: GuardDeps): (otherwise: Admission) => RequestHandler {
  const { config, access, limiter, strangerBodies = new StrangerBodies() } = deps;
  const open = new OpenRequests();
  const callerOf = async (request: Request, key: string | undefined): Promise<Caller> => {
    const isDirect = !isForwarded(request);
    if (isDirect && key === undefined && deps.isLocal(request.socket)) return { kind: 'local-socket' };
    const cookies = key === undefined ? sessionTokensOf(request, config.publicUrl) : [];
    const [token] = cookies;
    if (token !== undefined && cookies.length === 1) {
      const session = await access.callerOfSession(token);
      if (session) return session;
    }
    const caller = await access.callerOf(key, connectionOf(request));
    if (caller.kind === 'loopback' && !isDirect) return { kind: 'stranger', refusal: 'forwarded' };
    if (caller.kind === 'stranger' && cookies.length > 1)
      return { kind: 'stranger', refusal: 'two-sessions' };
    return caller;
  };
  return (otherwise) => async (request, response, next) => {
    const key = keyOf(request);
    const caller = await callerOf(request, key);
    response.locals.caller = caller;
    const operation = response.locals.operation as Endpoint | undefined;
    const admission = operation ?? otherwise;
    if (caller.kind === 'loopback') refuseForeignHost(request, config);
    if (caller.kind === 'loopback' || caller.kind === 'session') refuseForeignOrigin(request);
    if (caller.kind === 'session') requireOwnPage(request, { isForm: operation?.isPageForm === true });
    const isCounted = caller.kind === 'key' && admission.scopes !== 'public' && !operation?.takesBatches;
    if (isCounted) await limitRequest(limiter, caller.key, response);
    const problem = problemOfCaller(caller, admission);
    if (problem && !operation?.refuse) {
      if (problem.status === 401) response.set('WWW-Authenticate', 'Bearer realm="wa2ai"');
      throw problem;
    }
    response.locals.refusal = problem;
    // A secret of the path, such as a reply token, is checked before the body is read.
    if (caller.kind === 'stranger' && !operation?.admit) strangerBodies.reserve(request, response);
    if (!problem && admission.scopes !== 'public') open.enter(caller, response);
    if (WRITES.has(request.method) && request.path.startsWith('/api/')) {
      const isOther =
        (operation?.form !== undefined && isForm(request)) || (operation?.takesYaml && isYaml(request));
      if (!isOther) refuseOtherThanJson(request);
    }
    next();
  };
}

/** Why a stranger is refused, as a sentence. */
const REFUSALS = {
  none: say('problem.sign-in'),
  unknown: say('problem.key-unknown'),
  expired: say('problem.key-expired'),
  forwarded: say('problem.no-login'),
  'two-sessions': say('problem.two-cookies'),
};

/**
 * Refuses a caller whom an operation does not let in: the one place that decides it, for every protocol and kind of caller.
 * @throws {HttpProblem} 401 or 403
 */
export function admit(caller: Caller, admission: Admission): void {
  const problem = problemOfCaller(caller, admission);
  if (problem) throw problem;
}

const RESTRICTED: Record<Restriction, [code: ProblemCode, said: Said]> = {
  chats: ['CHAT_NOT_ALLOWED', say('problem.chats-only')],
  routes: ['ROUTE_NOT_ALLOWED', say('problem.routes-only')],
  accounts: ['ACCOUNT_NOT_ALLOWED', say('problem.accounts-only')],
};

function problemOfCaller(caller: Caller, admission: Admission): HttpProblem | undefined {
  const refusal = refusalOf(caller, admission);
  switch (refusal?.kind) {
    case undefined:
      return undefined;
    case 'unknown-caller':
      return new HttpProblem(401, 'UNAUTHORIZED', REFUSALS[refusal.why]);
    case 'scope': {
      const { scope } = refusal;
      const isUser = caller.kind === 'session';
      return new HttpProblem(
        403,
        'SCOPE_MISSING',
        isUser ? say('problem.role-lacks-scope', { scope }) : say('problem.key-lacks-scope', { scope }),
      );
    }
    case 'restriction':
      return new HttpProblem(403, ...RESTRICTED[refusal.restriction]);
  }
}

/** By name: headers that proxies, load balancers and networks of servers add, and the one of wa2ai's own requests. */
const FORWARDING = new Set([
  OWN_REQUEST_HEADER,
  'forwarded',
  'via',
  'x-real-ip',
  'x-real-port',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-originating-ip',
  'x-envoy-external-address',
  'x-envoy-original-path',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-appengine-user-ip',
  'x-arr-log-id',
  'x-arr-ssl',
  'x-amzn-trace-id',
  'x-amz-cf-id',
  'x-proxyuser-ip',
  'x-scheme',
  'x-url-scheme',
  'x-rewrite-url',
  'x-host',
  'true-client-ip',
  'client-ip',
  'cdn-loop',
  'fastly-client-ip',
  'fastly-ff',
  'fly-client-ip',
  'do-connecting-ip',
  'proxy-client-ip',
  'wl-proxy-client-ip',
  'front-end-https',
  'x-varnish',
]);

/** By the beginning of the name: `X-Forwarded-For`, `X-Original-Host`, `CF-Connecting-IP` and their kind. */
const FORWARDING_PREFIX = /^(x-forward|x-original-|cf-)/;

/**
 * Whether a proxy may have sent the request: its client is then elsewhere, although the connection comes from this machine.
 * Proxies that add no header at all speak HTTP/1.0 by default (nginx), which browsers and programs of today do not.
 */
function isForwarded({ headers, httpVersion }: Request): boolean {
  if (httpVersion === '1.0') return true;
  return Object.keys(headers).some((name) => FORWARDING.has(name) || FORWARDING_PREFIX.test(name));
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
  throw new HttpProblem(403, 'FOREIGN_HOST', say('problem.foreign-host'));
}

/** JSON by any of its names. The form of a foreign page can send none of them without asking first. */
export const JSON_TYPE = /^application\/(?:[\w.-]{1,100}\+)?(?:json|json-rpc|jsonrequest) *(?:;|$)/i;

/** @throws {HttpProblem} 415: there is a body that is not JSON by its type; a cross-site form could send it */
export function refuseOtherThanJson(request: Request): void {
  const type = request.get('content-type');
  const hasBody =
    Number(request.get('content-length') ?? 0) > 0 || request.get('transfer-encoding') !== undefined;
  if (type === undefined ? !hasBody : JSON_TYPE.test(type)) return;
  throw new HttpProblem(415, 'UNSUPPORTED_MEDIA_TYPE', say('problem.body-not-json-type'));
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase() : undefined;
}

/**
 * Counts a request of a key and names its limits in the response: `RateLimit-Policy` and `RateLimit`, as the IETF draft
 * "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers, since version 08) defines them.
 * @throws {RateLimitProblem} 429: the request is over a limit
 * @throws {StorageUnavailableError} it cannot be counted
 */
async function limitRequest(limiter: RateLimiter, key: ApiKey, response: Response): Promise<void> {
  const result = await limiter.count(key.id, key.limits);
  response.set(limitHeaders(key.limits, result));
  const full = result.windows.at(-1);
  if (!result.isAllowed && full) throw new RateLimitProblem(full.name, retryAfterSeconds(result));
}

/** `RateLimit-Policy` and `RateLimit` of a counted request. */
export function limitHeaders(limits: KeyLimits, result: LimitResult): Record<string, string> {
  return { 'RateLimit-Policy': policyOf(limits), RateLimit: stateOf(result) };
}

/** When the window that is full ends, in seconds from 1. */
export function retryAfterSeconds({ windows }: LimitResult): number {
  return seconds(windows.at(-1)?.resetMs ?? 0);
}

/** `"second";q=10;w=1, "minute";q=100;w=60` */
function policyOf(limits: KeyLimits): string {
  return WINDOWS.map((window) => `"${window.name}";q=${window.quotaOf(limits)};w=${window.seconds}`).join(
    ', ',
  );
}

/** `"second";r=9;t=1, "minute";r=42;t=17`, without windows in which the request was not counted. */
function stateOf({ windows }: LimitResult): string {
  return windows
    .map(({ name, remaining, resetMs }) => `"${name}";r=${remaining};t=${seconds(resetMs)}`)
    .join(', ');
}

/** Rounded up: a caller that waits so long is not too early. */
function seconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1_000), 1);
}

/** Requests of one key or user that a node answers at a time: calls that wait, streams, and all others. */
export const MAX_OPEN_REQUESTS = 150;

/** Tasks of one key or user that have not ended: questions to people, messages, talks to agents. */
const MAX_OPEN_TASKS = 100;

export const TOO_MANY_TASKS = `The caller has ${MAX_OPEN_TASKS} open tasks. Wait until some end, or cancel them.`;

/** How many open tasks the caller may have; undefined: any number. Keys and users have a limit; the admin has none. */
export function maxOpenTasksOf(caller: Caller): number | undefined {
  return limitedName(caller) === undefined ? undefined : MAX_OPEN_TASKS;
}

/** Counts the requests of each key and user that this node is answering, so that waits and streams of one do not exhaust it. */
export class OpenRequests {
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request until its response closes.
   * @throws {OpenRequestsProblem} 429: the caller has too many
   */
  enter(caller: Caller, response: { once(event: 'close', listener: () => void): unknown }): void {
    const name = limitedName(caller);
    if (name === undefined) return;
    const count = this.#counts.get(name) ?? 0;
    if (count >= MAX_OPEN_REQUESTS) throw new OpenRequestsProblem(count);
    this.#counts.set(name, count + 1);
    response.once('close', () => {
      const others = (this.#counts.get(name) ?? 1) - 1;
      if (others > 0) this.#counts.set(name, others);
      else this.#counts.delete(name);
    });
  }
}

function limitedName(caller: Caller): string | undefined {
  if (caller.kind === 'key') return `key ${caller.key.id}`;
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return user && `user ${user.name}`;
}

/** Largest body of a request that anybody may send, in bytes: a name and a password fit. */
export const MAX_PUBLIC_BODY_BYTES = 8_192;

/** Memory for the bodies of all such requests that are open, in bytes. */
const MAX_OPEN_BYTES = 16_777_216;

/**
 * The memory that bodies of callers take of whom nothing is known. It is reserved before the first byte is read, and free
 * again when the response has ended, so that callers cannot take more by sending slowly or many concurrently.
 */
export class StrangerBodies {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_OPEN_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** What is reserved now, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws {HttpProblem} 413: the body is too large; 503: the memory is used */
  reserve(request: Request, response: Response): void {
    const isChunked = request.get('transfer-encoding') !== undefined;
    const bytes = isChunked ? MAX_PUBLIC_BODY_BYTES : Number(request.get('content-length') ?? 0);
    if (bytes === 0) return;
    if (bytes > MAX_PUBLIC_BODY_BYTES) {
      throw new HttpProblem(
        413,
        'BODY_TOO_LARGE',
        say('problem.stranger-body', { bytes: MAX_PUBLIC_BODY_BYTES }),
      );
    }
    if (this.#bytes + bytes > this.#maxBytes) {
      response.set('Retry-After', '5');
      throw new HttpProblem(503, 'OVERLOADED', say('problem.overloaded'));
    }
    this.#bytes += bytes;
    response.once('close', () => {
      this.#bytes -= bytes;
    });
  }
}

/** Requests that change something, by method. */
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** With this header a page proves that it is one of wa2ai: another site cannot send it without asking before. */
export const CSRF_HEADER = 'X-Wa2ai-Csrf';

/** Refuses requests made by a page of another site, or of another port of this machine. */
export function refuseForeignOrigin(request: Request): void {
  const origin = request.get('origin');
  const isOwn = origin === undefined || isOwnOrigin(request, origin);
  const isCrossSiteWrite = WRITES.has(request.method) && request.get('sec-fetch-site') === 'cross-site';
  if (isOwn && !isCrossSiteWrite) return;
  throw new HttpProblem(403, 'FOREIGN_ORIGIN', say('problem.foreign-origin'));
}

/**
 * Refuses a write with a session unless the browser says that a page of wa2ai makes it, and the page sends the header. A
 * form of a page cannot send headers.
 */
function requireOwnPage(request: Request, { isForm }: { isForm: boolean }): void {
  if (!WRITES.has(request.method)) return;
  const site = request.get('sec-fetch-site');
  const origin = request.get('origin');
  const hasProof = origin !== undefined || site !== undefined;
  const isOwn = (site ?? 'same-origin') === 'same-origin' && (!origin || isOwnOrigin(request, origin));
  if (!hasProof || !isOwn) {
    throw new HttpProblem(403, 'FOREIGN_ORIGIN', say('problem.session-origin'));
  }
  if (isForm || request.get(CSRF_HEADER) === '1') return;
  throw new HttpProblem(403, 'CSRF_HEADER_MISSING', say('problem.csrf', { header: CSRF_HEADER }));
}

function isOwnOrigin(request: Request, origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).host.toLowerCase() === request.get('host')?.toLowerCase();
}
