import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { Agent as FetchAgent } from 'undici';
import { maskedProxyUrl, type ProxyAddress, readProxyUrl } from '../../../core/account-proxy.ts';
import { ProxyFailedError } from '../../../core/errors.ts';
import { say } from '../../../core/phrases.ts';

/** Longest wait for a connection through the proxy. Baileys gives up a WebSocket after 20 s. */
const TIMEOUT_MS = 10_000;

/** Of the socks package, which names its errors only so. */
const SOCKS_LOGIN_REFUSED = /Authentication failed|no accepted authentication type/i;
const SOCKS_REFUSED = /rejected connection(?: - ([A-Za-z]{1,40}))?/i;

/** Where a connection goes. */
interface Target {
  host: string;
  port: number;
  isTls: boolean;
}

/**
 * Makes all connections of an account through its proxy, by HTTP CONNECT or SOCKS5. The proxy resolves the names of servers. No
 * connection is ever made without it.
 */
export class AccountProxy {
  /** Without user name and password. */
  readonly shownUrl: string;
  /** For `ws:` and `http:`. */
  readonly httpAgent: HttpAgent;
  /** For `wss:` and `https:`. */
  readonly httpsAgent: HttpsAgent;
  /** For `fetch`. It has no time limits: the caller's signal sets them. */
  readonly dispatcher: FetchAgent;
  readonly #address: ProxyAddress;
  #failure: ProxyFailedError | undefined;

  /** @throws {TypeError} the URL is not one of a proxy */
  constructor(url: string) {
    const address = readProxyUrl(url);
    if ('refusal' in address) throw new TypeError(`The URL of a proxy ${address.refusal}.`);
    this.#address = address;
    this.shownUrl = maskedProxyUrl(url);
    const open = (target: Target) => this.#open(target);
    this.httpAgent = agentOver(HttpAgent, false, open);
    this.httpsAgent = agentOver(HttpsAgent, true, open);
    this.dispatcher = new FetchAgent({
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: ({ hostname, port, protocol }, done) => {
        const isTls = protocol === 'https:';
        const host = hostname.replace(/^\[|\]$/g, '');
        open({ host, port: Number(port) || (isTls ? 443 : 80), isTls }).then(
          (socket) => done(null, socket as Parameters<typeof done>[1] & object),
          (error: Error) => done(error, null),
        );
      },
    });
  }

  /** Why the last connection could not be made; undefined: it was, or there was none. */
  get failure(): ProxyFailedError | undefined {
    return this.#failure;
  }

  /** Ends uploads and idle connections. WebSockets and downloads that run are not affected. */
  close(): void {
    this.httpAgent.destroy();
    this.httpsAgent.destroy();
    void this.dispatcher.close();
  }

  /** @throws {ProxyFailedError} · the error of TLS with the target */
  async #open(target: Target): Promise<Duplex> {
    const socket = await this.#tunnel(target);
    return target.isTls ? secured(socket, target) : socket;
  }

  async #tunnel(target: Target): Promise<Duplex> {
    try {
      const { scheme } = this.#address;
      const socket = await (scheme === 'socks5'
        ? throughSocks(this.#address, target)
        : throughHttp(this.#address, scheme, target));
      this.#failure = undefined;
      return socket;
    } catch (error) {
      if (!(error instanceof ProxyFailedError)) throw error;
      this.#failure = error;
      throw error;
    }
  }
}

type Connected = (error: Error | null, socket?: Duplex) => void;

/** An agent of Node whose connections `open` makes. */
function agentOver<A extends HttpAgent>(
  Kind: new () => A,
  isTls: boolean,
  open: (target: Target) => Promise<Duplex>,
): A {
  const agent = new Kind();
  const createConnection = (
    options: { host?: string | null; port?: number | string | null },
    done: Connected,
  ) => {
    open({ host: options.host ?? '', port: Number(options.port) || (isTls ? 443 : 80), isTls }).then(
      (socket) => done(null, socket),
      done,
    );
  };
  // An agent's way to make connections (https://nodejs.org/api/http.html#agentcreateconnectionoptions-callback).
  return Object.assign(agent, { createConnection });
}

function secured(socket: Duplex, { host }: Target): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const tls = connectTls({ socket, host, ALPNProtocols: ['http/1.1'], ...servername });
    const limit = setTimeout(
      () => tls.destroy(new Error('no TLS handshake through the proxy of this account')),
      TIMEOUT_MS,
    );
    tls.once('error', reject);
    tls.once('close', () => clearTimeout(limit));
    tls.once('secureConnect', () => {
      clearTimeout(limit);
      tls.off('error', reject);
      resolve(tls);
    });
  });
}

function throughHttp(
  { host, port, login }: ProxyAddress,
  scheme: 'http' | 'https',
  target: Target,
): Promise<Duplex> {
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
  const credentials = login && Buffer.from(`${login.user}:${login.password}`).toString('base64');
  return new Promise((resolve, reject) => {
    const fail = (failure: ProxyFailedError) => {
      request.destroy();
      reject(failure);
    };
    const request = (scheme === 'https' ? requestHttps : requestHttp)({
      host,
      port,
      method: 'CONNECT',
      path: authority,
      agent: false,
      headers: { host: authority, ...(credentials && { 'proxy-authorization': `Basic ${credentials}` }) },
    });
    const limit = setTimeout(() => fail(late()), TIMEOUT_MS);
    request.once('close', () => clearTimeout(limit));
    request.once('error', (error: NodeJS.ErrnoException) => fail(withoutAnswer(error)));
    request.once('connect', ({ statusCode = 0 }, socket, head) => {
      clearTimeout(limit);
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      fail(statusCode === 407 ? loginRefused(login !== undefined) : refusal(`HTTP status ${statusCode}`));
    });
    request.end();
  });
}

async function throughSocks({ host, port, login }: ProxyAddress, target: Target): Promise<Duplex> {
  // Few accounts have such a proxy.
  const { SocksClient } = await import('socks');
  try {
    const { socket } = await SocksClient.createConnection({
      proxy: { host, port, type: 5, ...(login && { userId: login.user, password: login.password }) },
      command: 'connect',
      destination: { host: target.host, port: target.port },
      timeout: TIMEOUT_MS,
    });
    return socket;
  } catch (error) {
    throw socksFailure(error as NodeJS.ErrnoException, login !== undefined);
  }
}

/** The error of the socks package contains the password. */
function socksFailure(error: NodeJS.ErrnoException, hasLogin: boolean): ProxyFailedError {
  const { message } = error;
  if (SOCKS_LOGIN_REFUSED.test(message)) return loginRefused(hasLogin);
  const refused = SOCKS_REFUSED.exec(message);
  if (refused) return refusal(`SOCKS5: ${refused[1] ?? 'refused'}`);
  return /timed out/i.test(message) ? late() : withoutAnswer(error);
}

function loginRefused(hasLogin: boolean): ProxyFailedError {
  const said = say(hasLogin ? 'proxy.refuses-login' : 'proxy.asks-login');
  return new ProxyFailedError(said, { isRefusal: true });
}

function refusal(why: string): ProxyFailedError {
  const said = say('proxy.cannot-connect', { why });
  return new ProxyFailedError(said, { isRefusal: true });
}

function late(): ProxyFailedError {
  const said = say('proxy.timeout', { seconds: TIMEOUT_MS / 1_000 });
  return new ProxyFailedError(said, { isRefusal: false });
}

/** The message of a system error names the address. */
function withoutAnswer({ code, message }: NodeJS.ErrnoException): ProxyFailedError {
  const known = code ?? /\b(E[A-Z]{4,20})\b/.exec(message)?.[1];
  const said = known ? say('proxy.no-answer', { why: known }) : say('proxy.closed');
  return new ProxyFailedError(said, { isRefusal: false });
}
