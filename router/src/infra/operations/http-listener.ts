import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Config } from '../../config/config.ts';
import { networkOf } from '../../core/access/failed-attempts.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { isLoggedOccurrence, type Logger } from '../../core/logger.ts';
import { LocalConnections, listenOnFile } from './local-socket.ts';

/** How long running requests get when the server closes. */
const CLOSE_GRACE_MS = 2_000;

/** Limits of the server. A connection that breaks one is closed. */
export const SERVER_LIMITS = {
  /** Connections at a time; further ones are refused. */
  maxConnections: 2_048,
  /** Of one address, which may be a proxy; of IPv6, of one network (/64). Further ones are closed. */
  maxConnectionsPerAddress: 1_024,
  /** Until a connection has sent its request line and headers, also when it sends nothing at all. */
  headersTimeoutMs: 10_000,
  /** Until a request has arrived completely, body included. */
  requestTimeoutMs: 30_000,
  /** Between two requests of a connection. */
  keepAliveTimeoutMs: 5_000,
  /** How often the server looks for connections past these times. */
  checkEveryMs: 2_000,
};

/** Where a server listens. */
interface HttpListenerOptions {
  config: Pick<Config, 'host' | 'port'> & Partial<Pick<Config, 'socket'>>;
  log: Logger;
  /** Default: SERVER_LIMITS. */
  limits?: typeof SERVER_LIMITS;
}

/** A server that listens. Requests wait until it has something to serve. */
export interface HttpListener {
  /** Where a browser on this machine finds it: `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Where it listens. */
  readonly address: { address: string; port: number };
  /** Connections of the Unix socket. */
  readonly local: LocalConnections;
  /** Answers the requests that wait, and those that come. Call it once. */
  serve(application: RequestListener): void;
  /**
   * Refuses new requests, gives running ones two seconds, then closes their connections. Closes immediately the connections of
   * requests that wait, and those without a request. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Listens on the configured host and port, and on the Unix socket. It loads nothing of what it will serve.
 * @throws {Wa2aiError} CANNOT_LISTEN: the port, or the Unix socket that an operator chose, cannot be used; the sentence
 *   says why and which setting to change
 */
export async function listenHttp(options: HttpListenerOptions): Promise<HttpListener> {
  const { host, port } = options.config;
  const local = new LocalConnections();
  let application: RequestListener | undefined;
  const waiting: Array<Parameters<RequestListener>> = [];
  const onRequest: RequestListener = (...request) => {
    if (application) application(...request);
    else waiting.push(request);
  };
  const limits = options.limits ?? SERVER_LIMITS;
  const open = new Set<Socket>();
  const server = limitedServer(onRequest, limits, open);
  logDrops(server, options.log);
  limitAddresses(server, limits.maxConnectionsPerAddress, options.log);
  await listen(server, host, port);
  const onFile = await serverOnFile(onRequest, open, local, options).catch(async (error: unknown) => {
    await close(server);
    throw error;
  });
  const { address, port: actualPort } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${browsableHost(host)}:${actualPort}`,
    address: { address, port: actualPort },
    local,
    serve: (given) => {
      application = given;
      for (const request of waiting.splice(0)) given(...request);
    },
    close: () => {
      closing ??= Promise.all([close(server), onFile && close(onFile)]).then(() => undefined);
      // Browsers and Node's fetch open connections for later requests. Node closes only those that had a request.
      for (const socket of open) if (!application || socket.bytesRead === 0) socket.destroy();
      return closing;
    },
  };
}

/** The server of the Unix socket. The service runs without it when the path is the default one. */
async function serverOnFile(
  onRequest: RequestListener,
  open: Set<Socket>,
  local: LocalConnections,
  { config: { socket }, limits = SERVER_LIMITS, log }: HttpListenerOptions,
): Promise<Server | undefined> {
  if (!socket) return undefined;
  const server = limitedServer(onRequest, limits, open);
  local.follow(server);
  try {
    await listenOnFile(server, socket.path);
    return server;
  } catch (error) {
    if (socket.isChosen || !(error instanceof Wa2aiError)) throw error;
    log.warn({ reason: error.message }, 'no Unix socket for the command line');
    return undefined;
  }
}

/** @param open gets its connections that are open */
function limitedServer(onRequest: RequestListener, limits: typeof SERVER_LIMITS, open: Set<Socket>): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: limits.checkEveryMs,
    },
    onRequest,
  );
  server.maxConnections = limits.maxConnections;
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
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

/** Logs closed connections 1, 2, 4, 8, ... */
function limitAddresses(server: Server, maxConnections: number, log: Logger): void {
  const open = new Map<string, number>();
  let closed = 0;
  server.on('connection', (socket) => {
    const address = networkOf(socket.remoteAddress ?? '');
    const count = (open.get(address) ?? 0) + 1;
    if (count > maxConnections) {
      socket.destroy();
      closed += 1;
      if (isLoggedOccurrence(closed)) {
        log.warn({ address, closed, maxConnections }, 'too many http connections of an address');
      }
      return;
    }
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
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
  return new Wa2aiError(
    'CANNOT_LISTEN',
    'dead',
    { sentence: `The REST API cannot start: ${reason}` },
    { cause: error },
  );
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
