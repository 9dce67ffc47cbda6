import { randomUUID } from 'node:crypto';
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { RateLimiter } from '../../core/ports/rate-limiter.ts';
import type { Access } from './access.ts';
import { RestAudit } from './audit.ts';
import type { AuditRecorder } from './audit-recorder.ts';
import type { Endpoint } from './endpoint.ts';
import { type Face, mountFace } from './face.ts';
import { guard } from './guard.ts';
import { type HttpListener, listenHttp, type SERVER_LIMITS } from './http-listener.ts';
import { LocalConnections } from './local-socket.ts';
import { mount } from './mount.ts';
import { openApiEndpoint } from './openapi.ts';
import { problemHandler } from './problem-handler.ts';

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
  const guardOf = guard({ config, access, limiter, isLocal: (socket) => local.has(socket) });
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
 * Listens, and serves the application from the first request on.
 * @throws {Wa2aiError} as listenHttp
 */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpListener> {
  const listener = await listenHttp(options);
  listener.serve(createHttpApp({ ...options, local: listener.local }));
  return listener;
}
