import type { Socket } from 'node:net';
import type { Request, RequestHandler } from 'express';
import type { Config } from '../../config/config.ts';
import { isLoopbackHost } from '../../config/config-fields.ts';
import { type Admission, type Restriction, refusalOf } from '../../core/access/admission.ts';
import { type Caller, OWN_REQUEST_HEADER } from '../../core/access/caller.ts';
import { type Said, say } from '../../core/phrases.ts';
import type { RateLimiter } from '../../core/ports/rate-limiter.ts';
import type { Access, Connection } from './access.ts';
import { refuseForeignOrigin, requireOwnPage, WRITES } from './cross-site.ts';
import type { Endpoint } from './endpoint.ts';
import { isForm, isYaml } from './form.ts';
import { limitRequest, OpenRequests } from './limits.ts';
import { HttpProblem, type ProblemCode } from './problem.ts';
import { sessionTokensOf } from './session-cookie.ts';
import { StrangerBodies } from './stranger-bodies.ts';

export interface GuardDeps {
  config: Pick<Config, 'host'> & Partial<Pick<Config, 'publicUrl'>>;
  access: Access;
  limiter: RateLimiter;
  /** Whether a connection came over the socket file, which only the user of the service can open. */
  isLocal(socket: Socket): boolean;
  /** Default: one of its own. */
  strangerBodies?: StrangerBodies;
}

/**
 * Determines the caller of each request and refuses those that must not reach a handler. Always: a caller whom the operation
 * does not admit, a large body of somebody unknown, and writes under /api whose body is not JSON, which a cross-site form
 * could send. With a session: a change that no page of wa2ai sends. Without any login, on loopback: a foreign Host (DNS rebinding), a foreign Origin and cross-site writes (a web page in the same browser). A
 * request of a key over its limits. A request over the socket file needs no key; with one it has that key's rights.
 * A request that a proxy forwarded, or that wa2ai itself sent, is neither one of this machine nor one of the socket file.
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
