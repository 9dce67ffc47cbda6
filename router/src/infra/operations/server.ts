import { randomUUID } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import helmet from 'helmet';
import type { Config } from '../../config/config.ts';
import { type Caller, type CallerAdmission, RESTRICTIONS } from '../../core/access/caller.ts';
import type { Logger } from '../../core/logger.ts';
import type { RateLimiter } from '../../core/ports/access.ts';
import type { Access } from './access.ts';
import { RestAudit } from './audit.ts';
import type { AuditRecorder } from './audit-recorder.ts';
import type { Endpoint } from './endpoint.ts';
import { admit, guard } from './guard.ts';
import { type HttpListener, listenHttp, type SERVER_LIMITS } from './http-listener.ts';
import { LocalConnections } from './local-socket.ts';
import { fieldsOf, homeOf, mount, relativePath, withWarnings } from './mount.ts';
import { openApiEndpoint } from './openapi.ts';
import { html, page } from './page-frame.ts';
import { type ProblemResponse, problemOf } from './problem.ts';
import { mountServer, type ProtocolServer } from './protocol-server.ts';
import type { RepeatedCalls } from './repeated-calls.ts';

/** The server and what it serves. */
export interface HttpServerOptions {
  config: Pick<Config, 'host' | 'port' | 'apiKey'> & Partial<Pick<Config, 'socket'>>;
  access: Access;
  limiter: RateLimiter;
  recorder: Pick<AuditRecorder, 'recordChange' | 'recordRead'>;
  /** Carries out calls with an `Idempotency-Key`. */
  repeated: Pick<RepeatedCalls, 'run'>;
  /** Every operation of every protocol, in the order in which paths are matched. */
  endpoints: readonly Endpoint[];
  /** What the tags of the endpoints mean, in the order in which the description of the API shows them. */
  tags: Readonly<Record<string, string>>;
  /** Matched before the endpoints. Default: none. */
  servers?: readonly ProtocolServer[];
  log: Logger;
  /** Epoch milliseconds; default: the machine's clock. */
  now?(): number;
  /** Default: SERVER_LIMITS. */
  limits?: typeof SERVER_LIMITS;
}

/** The Express application: security headers, guard, endpoints, problems. */
export function createHttpApp({
  config,
  access,
  limiter,
  recorder,
  repeated,
  endpoints,
  tags,
  servers = [],
  log,
  now = Date.now,
  local = new LocalConnections(),
}: HttpServerOptions & { local?: LocalConnections }): Express {
  const app = express();
  // Express' own handler, for what fails outside ours, shows a stack in any other environment.
  app.set('env', 'production');
  app.disable('etag');
  app.use(securityHeaders());
  app.use(requestId);
  const audit = new RestAudit({ recorder, now });
  const described = [...endpoints, openApiEndpoint(endpoints, { hasKey: config.apiKey !== undefined, tags })];
  const guardOf = guard({ config, access, limiter, isLocal: (socket) => local.has(socket) });
  for (const server of servers) app.use(mountServer(server, guardOf));
  app.use(mount(described, guardOf, audit, repeated));
  app.use(problemHandler(log, audit));
  return app;
}

/** Names the request in the response, the log and the audit log: by the caller's own name if it sent a usable one. */
const requestId: express.RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id') ?? '';
  response.locals.requestId = /^[\w.:-]{1,100}$/.test(given) ? given : randomUUID();
  response.set('X-Request-Id', response.locals.requestId);
  next();
};

function securityHeaders(): express.RequestHandler[] {
  return [
    helmet({
      // Pages replace it by a policy that allows their own script and style.
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
      frameguard: { action: 'deny' },
      // Not no-referrer: with that, a browser sends `Origin: null` with the login form.
      referrerPolicy: { policy: 'same-origin' },
      // The server speaks HTTP; a proxy that adds TLS sets this header.
      strictTransportSecurity: false,
    }),
    (_request, response, next) => {
      response.set('Cache-Control', 'no-store');
      next();
    },
  ];
}

/**
 * Listens, and serves the application from the first request on.
 * @throws {Wa2aiError} as listenHttp
 */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpListener> {
  const listener = await listenHttp(options);
  listener.serve(createHttpApp({ ...options, local: listener.local }));
  return listener;
}

/**
 * Express' last handler: writes every error as a problem, as a page for a browser that opens one and as JSON for
 * everything else. Logs those that are a fault of the service, and records the call in the audit log.
 */
export function problemHandler(log: Logger, audit: Pick<RestAudit, 'record'>): ErrorRequestHandler {
  return async (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const problem = problemOf(error);
    if (problem.status >= 500) {
      log.error(
        {
          err: error,
          code: problem.body.code,
          method: request.method,
          path: request.route?.path,
          requestId: response.locals.requestId,
        },
        'request failed',
      );
    }
    await audit.record(request, response, { outcome: problem.body.code });
    response.status(problem.status).set(problem.headers);
    // A program that accepts any type, or names none, gets JSON.
    const isForPerson = request.method === 'GET' && request.accepts(['json', 'html']) === 'html';
    if (isForPerson) writePage(request, response, problem.body);
    else response.json(located(request, problem.body));
  };
}

/** The problem with the links to the documentation relative to the address of the request. */
function located(request: Request, body: ProblemResponse['body']): ProblemResponse['body'] {
  const docs = relativePath(request, body.docs);
  return { ...body, docs, ...('type' in body && { type: docs }) };
}

function writePage(request: Request, response: Response, { error, docs }: ProblemResponse['body']): void {
  const home = homeOf(request);
  const { headers, html: text } = page({
    status: response.statusCode,
    home,
    title: 'This did not work',
    main: html`<h1>This did not work</h1><p>${error}</p>
<p><a href="${relativePath(request, docs)}">What this means</a> · <a href="${home}">Overview</a></p>`,
  });
  response
    .set(headers ?? {})
    .type('html')
    .send(text);
}

/** The parts of a call; what is undefined counts as not sent. */
interface RestCallInput {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  body?: Record<string, unknown>;
  /** By lower-case name. */
  headers?: Record<string, string | undefined>;
  /** Aborts when nobody waits for the result any more. Default: never. */
  signal?: AbortSignal;
}

/** Body of the response, as it is on the wire (`{}`: it has none), and the id of what was read or changed. */
export interface RestCallResult {
  json: Record<string, unknown>;
  object?: string;
}

/** Operations of the REST API for another protocol of this process, with the same checks. The other protocol records the call. */
export class RestCalls {
  readonly #endpoints: () => readonly Endpoint[];
  #byId: ReadonlyMap<string, Endpoint> | undefined;

  /** @param endpoints the operations, read at the first use: some of them may use these calls */
  constructor(endpoints: () => readonly Endpoint[]) {
    this.#endpoints = endpoints;
  }

  /** Whom all of these operations let in. */
  admissionOf(...operationIds: string[]): CallerAdmission {
    const all = operationIds.map((id) => this.#operation(id));
    const [first, ...others] = all.flatMap(({ scopes }) => (typeof scopes === 'string' ? [] : scopes));
    const honours = RESTRICTIONS.filter((each) =>
      all.every(({ honours }) => honours?.includes(each) ?? true),
    );
    return { scopes: first === undefined ? 'any-key' : [first, ...others], honours };
  }

  /** The part of a request that has the fields of an operation. */
  partOf(operationId: string): 'body' | 'query' {
    return this.#operation(operationId).body ? 'body' : 'query';
  }

  /** @throws what the operation throws, {HttpProblem} for a mistake of the caller */
  async call(operationId: string, caller: Caller, input: RestCallInput = {}): Promise<RestCallResult> {
    const operation = this.#operation(operationId);
    admit(caller, operation);
    const { params = {}, headers = {}, signal = new AbortController().signal } = input;
    const query = Object.fromEntries(
      Object.entries(input.query ?? {}).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)]],
      ),
    );
    const { renamed, ...fields } = fieldsOf(operation, { body: withoutUndefined(input.body ?? {}), query });
    const result = await operation.handle({
      params,
      ...fields,
      caller,
      header: (name) => headers[name],
      signal,
    });
    const { json, object } = withWarnings(result, renamed);
    return {
      json: json === undefined ? {} : JSON.parse(JSON.stringify(json)),
      ...((object ?? params.id) !== undefined && { object: object ?? params.id }),
    };
  }

  #operation(operationId: string): Endpoint {
    this.#byId ??= new Map(this.#endpoints().map((endpoint) => [endpoint.operationId, endpoint]));
    const operation = this.#byId.get(operationId);
    if (!operation) throw new TypeError(`there is no operation ${operationId}`);
    return operation;
  }
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
