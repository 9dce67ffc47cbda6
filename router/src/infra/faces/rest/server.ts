import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import type { Config } from '../../../config/config.ts';
import { Wa2aiError } from '../../../core/errors.ts';
import { pages } from '../pages/pages.ts';
import { type Endpoint, mount, pathMatches } from './endpoint.ts';
import { guard } from './guard.ts';
import type { Metrics } from './metrics/metrics.ts';
import { metricsApi } from './metrics/metrics-api.ts';
import { openApiEndpoint } from './openapi.ts';
import { problemHandler } from './problem.ts';
import { accountsApi } from './resources/accounts-api.ts';
import { type DeadLettersApiDeps, deadLettersApi } from './resources/dead-letters-api.ts';
import { type ExplainApiDeps, explainApi } from './resources/explain-api.ts';
import { type HealthApiDeps, healthApi } from './resources/health-api.ts';
import { type MessagesApiDeps, messagesApi } from './resources/messages-api.ts';
import { type NodesApiDeps, nodesApi } from './resources/nodes-api.ts';
import { type RoutesApiDeps, routesApi } from './resources/routes-api.ts';

/** Idle keep-alive connections and requests that are still running when the server closes get this long. */
const CLOSE_GRACE_MS = 2_000;

/** What the REST API and the pages stand on. */
export interface HttpDeps
  extends MessagesApiDeps,
    DeadLettersApiDeps,
    HealthApiDeps,
    ExplainApiDeps,
    NodesApiDeps,
    RoutesApiDeps {
  config: Pick<Config, 'host' | 'port' | 'apiKey' | 'accountId' | 'environment'>;
  metrics: Metrics;
  /** Epoch milliseconds; default: the machine's clock. */
  now?(): number;
}

/** A listening server. */
export interface HttpServer {
  /** Where a browser on this machine finds it: `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Takes no more requests, lets running ones end for a moment, then cuts them. Idempotent. */
  close(): Promise<void>;
}

/** Every operation of the API and the pages, in the order in which they are mounted. */
export function endpointsOf(deps: HttpDeps): Endpoint[] {
  const now = deps.now ?? Date.now;
  const endpoints = [
    ...pages({ ...deps, now }),
    // Before `/api/routes/{id}`, which would take `explain` for an id.
    ...explainApi(deps),
    ...routesApi(deps),
    ...accountsApi(deps),
    ...nodesApi(deps),
    ...messagesApi(deps),
    ...deadLettersApi(deps),
    ...healthApi(deps),
    ...metricsApi(deps),
  ];
  return [...endpoints, openApiEndpoint(endpoints, { hasKey: deps.config.apiKey !== undefined })];
}

/** The Express application: security headers, guard, endpoints, problems. */
export function createHttpApp(deps: HttpDeps): Express {
  const app = express();
  // Whatever fails outside the problem handler must not show a stack either.
  app.set('env', 'production');
  app.disable('x-powered-by');
  app.disable('etag');
  const endpoints = endpointsOf(deps);
  const open = endpoints.filter(({ isPublic }) => isPublic);
  app.use((_request, response, next) => {
    response.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      // Not no-referrer: with that a browser sends `Origin: null` with the login form.
      'Referrer-Policy': 'same-origin',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    });
    next();
  });
  app.use(
    guard(deps.config, {
      now: deps.now ?? Date.now,
      isPublic: (request) => open.some(({ path }) => pathMatches(path, request.path)),
    }),
  );
  mount(app, endpoints);
  app.use(problemHandler(deps.log));
  return app;
}

/**
 * Builds the application and listens on the configured host and port.
 * @throws {Wa2aiError} the port cannot be used; the sentence says why and which setting to change
 */
export async function createHttpServer(deps: HttpDeps): Promise<HttpServer> {
  const { host, port } = deps.config;
  const server = createServer(createHttpApp(deps));
  await listen(server, host, port);
  const { port: actualPort } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${browsableHost(host)}:${actualPort}`,
    close: () => {
      closing ??= close(server);
      return closing;
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)));
    server.listen(port, host, resolve);
  });
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const why: Record<string, string> = {
    EADDRINUSE: `another program uses port ${port} of ${host}; set WA2AI_PORT to a free one, or stop that program`,
    EACCES: `port ${port} needs more rights; set WA2AI_PORT to one above 1023`,
    EADDRNOTAVAIL: `${host} is no address of this machine; correct WA2AI_HOST`,
    ENOTFOUND: `${host} is no known host name; correct WA2AI_HOST`,
  };
  const reason = why[error.code ?? ''] ?? `${host}:${port} cannot be listened on (${error.code})`;
  return new Wa2aiError('CANNOT_LISTEN', 'dead', `The REST API could not start: ${reason}.`, {
    cause: error,
  });
}

function browsableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

async function close(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(timer);
}
