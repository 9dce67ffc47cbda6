import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Config } from '../../../config/config.ts';
import { Wa2aiError } from '../../../core/errors.ts';
import { isLoggedOccurrence } from '../../../core/log-throttle.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { RateLimiter } from '../../../core/ports/rate-limiter.ts';
import type { Access } from '../access/access.ts';
import type { AuditRecorder } from '../access/audit-recorder.ts';
import { RestAudit } from './audit.ts';
import type { Endpoint } from './endpoint.ts';
import { type Face, mountFace } from './face.ts';
import { guard } from './guard.ts';
import { LocalConnections, listenOnFile } from './local-socket.ts';
import { mount } from './mount.ts';
import { openApiEndpoint } from './openapi.ts';
import { problemHandler } from './problem-handler.ts';

/** How long idle keep-alive connections and running requests get when the server closes. */
const CLOSE_GRACE_MS = 2_000;

/** Limits of the server. A connection that breaks one is closed. */
export const SERVER_LIMITS = {
  /** Connections at a time; further ones are refused. */
  maxConnections: 2_048,
  /** Until a connection has sent its request line and headers, also when it sends nothing at all. */
  headersTimeoutMs: 10_000,
  /** Until a request has arrived completely, body included. */
  requestTimeoutMs: 30_000,
  /** Between two requests of a connection. */
  keepAliveTimeoutMs: 5_000,
  /** How often the server looks for connections past these times. */
  checkEveryMs: 2_000,
};

/** The server and what it serves. */
export interface HttpServerOptions {
  config: Pick<Config, 'host' | 'port' | 'apiKey'> & Partial<Pick<Config, 'socket'>>;
  access: Access;
  limiter: RateLimiter;
  recorder: Pick<AuditRecorder, 'recordChange' | 'recordRead'>;
  /** Every operation of every face, in the order in which paths are matched. */
  endpoints: readonly Endpoint[];
  /** Matched before the endpoints. Default: none. */
  faces?: readonly Face[];
  log: Logger;
  /** Epoch milliseconds; default: the machine's clock. */
  now?(): number;
  /** Default: SERVER_LIMITS. */
  limits?: typeof SERVER_LIMITS;
}

/** A listening server. */
export interface HttpServer {
  /** Where a browser on this machine finds it: `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Refuses new requests, gives running ones two seconds, then closes their connections. Idempotent. */
  close(): Promise<void>;
}

/** The Express application: security headers, guard, endpoints, problems. */
export function createHttpApp({
  config,
  access,
  limiter,
  recorder,
  endpoints,
  faces = [],
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
  const described = [...endpoints, openApiEndpoint(endpoints, { hasKey: config.apiKey !== undefined })];
  const guardOf = guard({ config, access, limiter, now, isLocal: (socket) => local.has(socket) });
  for (const face of faces) app.use(mountFace(face, guardOf));
  app.use(mount(described, guardOf, audit));
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
 * Builds the application and listens on the configured host and port, and on the socket file.
 * @throws {Wa2aiError} CANNOT_LISTEN: the port, or the socket file that an operator chose, cannot be used; the sentence
 *   says why and which setting to change
 */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port } = options.config;
  const local = new LocalConnections();
  const app = createHttpApp({ ...options, local });
  const server = limitedServer(app, options.limits ?? SERVER_LIMITS);
  logDrops(server, options.log);
  await listen(server, host, port);
  const onFile = await serverOnFile(app, local, options).catch(async (error: unknown) => {
    await close(server);
    throw error;
  });
  const { port: actualPort } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${browsableHost(host)}:${actualPort}`,
    close: () => {
      closing ??= Promise.all([close(server), onFile && close(onFile)]).then(() => undefined);
      return closing;
    },
  };
}

/** The server of the socket file. The service runs without it when the path is the default one. */
async function serverOnFile(
  app: Express,
  local: LocalConnections,
  { config: { socket }, limits = SERVER_LIMITS, log }: HttpServerOptions,
): Promise<Server | undefined> {
  if (!socket) return undefined;
  const server = limitedServer(app, limits);
  local.follow(server);
  try {
    await listenOnFile(server, socket.path);
    return server;
  } catch (error) {
    if (socket.isChosen || !(error instanceof Wa2aiError)) throw error;
    log.warn({ reason: error.message }, 'no socket file for the command line');
    return undefined;
  }
}

function limitedServer(app: Express, limits: typeof SERVER_LIMITS): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkEveryMs,
    },
    app,
  );
  server.maxConnections = limits.maxConnections;
  return server;
}

/** Logs refused connections 1, 2, 4, 8, ... */
function logDrops(server: Server, log: Logger): void {
  let dropped = 0;
  server.on('drop', () => {
    dropped += 1;
    if (isLoggedOccurrence(dropped)) {
      log.warn({ dropped, maxConnections: server.maxConnections }, 'too many http connections');
    }
  });
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)));
    server.listen(port, host, resolve);
  });
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const why: Record<string, string> = {
    EADDRINUSE: `another program uses port ${port} of ${host}. Set WA2AI_PORT to a free port, or stop that program.`,
    EACCES: `port ${port} needs more rights. Set WA2AI_PORT to a port above 1023.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine. Correct WA2AI_HOST.`,
    ENOTFOUND: `${host} is not a known host name. Correct WA2AI_HOST.`,
  };
  const reason = why[error.code ?? ''] ?? `${host}:${port} cannot be used (${error.code}).`;
  return new Wa2aiError('CANNOT_LISTEN', 'dead', `The REST API cannot start: ${reason}`, { cause: error });
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
