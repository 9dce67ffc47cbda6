import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestCertificate } from '../whatsapp-emulator/certificate.ts';
import { unusedPort } from './unused-port.ts';

interface Login {
  user: string;
  password: string;
}

export interface TestProxyOptions {
  scheme: 'http' | 'https' | 'socks5';
  /** Ports on loopback of the servers that it reaches, by `host:port` of the request; any other request is refused. */
  servers: Readonly<Record<string, number>>;
  /** Absent: it asks for none. */
  login?: Login;
  /** For `https`: of 127.0.0.1. */
  certificate?: TestCertificate;
}

/** A proxy for TCP connections on loopback: HTTP CONNECT (RFC 9110) or SOCKS5 with user name and password (RFC 1928, 1929). */
export class TestProxy {
  readonly #options: TestProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** `host:port` of each request with the right login, in order. */
  readonly targets: string[] = [];
  /** Requests with a missing or wrong login. */
  refusedLogins = 0;
  /** Answers nothing while true. */
  isSilent = false;
  #port = 0;

  private constructor(options: TestProxyOptions) {
    this.#options = options;
    this.#server = this.#create();
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  static async start(options: TestProxyOptions): Promise<TestProxy> {
    const proxy = new TestProxy(options);
    await proxy.listen();
    return proxy;
  }

  /** Listens, at the same port as before. */
  async listen(): Promise<void> {
    this.#port ||= await unusedPort();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Its URL, with its login unless another one is given. */
  url(login = this.#options.login): string {
    const { scheme } = this.#options;
    const text = login ? `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@` : '';
    return `${scheme}://${text}127.0.0.1:${this.#port}`;
  }

  /** Ends every connection and refuses new ones; `listen` begins again. Idempotent. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  #create(): Server {
    const { scheme, certificate } = this.#options;
    if (scheme === 'socks5')
      return createServer((socket) => void this.#serveSocks(socket).catch(() => socket.destroy()));
    const server = scheme === 'https' ? createHttpsServer(certificate ?? {}) : createHttpServer();
    server.on('connect', ({ url = '', headers }, socket: Duplex) => {
      socket.on('error', () => undefined);
      if (this.isSilent) return;
      const answer = (status: string) => void socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
      const [, credentials = ''] = headers['proxy-authorization']?.split(' ') ?? [];
      const [user = '', ...password] = Buffer.from(credentials, 'base64').toString().split(':');
      if (!this.#isAllowed({ user, password: password.join(':') }))
        return answer('407 Proxy Authentication Required');
      this.#connect(
        url,
        socket,
        () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'),
        () => answer('403 Forbidden'),
      );
    });
    return server;
  }

  async #serveSocks(socket: Socket): Promise<void> {
    if (this.isSilent) return;
    const { login } = this.#options;
    const [, methods = 0] = await take(socket, 2);
    const offered = await take(socket, methods);
    const method = login ? 2 : 0;
    if (!offered.includes(method)) {
      this.refusedLogins += 1;
      socket.end(Buffer.from([5, 0xff]));
      return;
    }
    socket.write(Buffer.from([5, method]));
    if (login) {
      const text = async () => (await take(socket, (await take(socket, 1))[0] ?? 0)).toString();
      await take(socket, 1);
      const isAllowed = this.#isAllowed({ user: await text(), password: await text() });
      socket.write(Buffer.from([1, isAllowed ? 0 : 1]));
      if (!isAllowed) return void socket.end();
    }
    const [, , , kind] = await take(socket, 4);
    const host =
      kind === 3
        ? (await take(socket, (await take(socket, 1))[0] ?? 0)).toString()
        : [...(await take(socket, 4))].join('.');
    const port = (await take(socket, 2)).readUInt16BE();
    const answer = (code: number) => void socket.write(Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]));
    this.#connect(
      `${host}:${port}`,
      socket,
      () => answer(0),
      () => answer(2),
    );
  }

  #isAllowed(login: Login): boolean {
    const { login: own } = this.#options;
    const isAllowed = !own || (login.user === own.user && login.password === own.password);
    if (!isAllowed) this.refusedLogins += 1;
    return isAllowed;
  }

  #connect(target: string, near: Duplex, onOpen: () => void, onRefused: () => void): void {
    const port = this.#options.servers[target];
    this.targets.push(target);
    if (port === undefined) {
      onRefused();
      return;
    }
    const far = connect(port, '127.0.0.1', () => {
      onOpen();
      far.pipe(near).pipe(far);
    });
    far.on('error', () => near.destroy());
    far.once('close', () => near.destroy());
    near.once('close', () => far.destroy());
  }
}

/** Exactly so many bytes of a socket. @throws when it ends before */
async function take(socket: Socket, bytes: number): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0);
  for (;;) {
    const read = socket.read(bytes) as Buffer | null;
    if (read) return read;
    if (socket.readableEnded || socket.destroyed) throw new Error('the client left');
    await Promise.race([once(socket, 'readable'), once(socket, 'end'), once(socket, 'close')]);
  }
}
