import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';

/** Of the protocol's messages (PostgreSQL documentation, "Message Formats") a pooler must know these. */
const AUTHENTICATION_OK = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const READY = 'Z'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);

/**
 * Replaces PgBouncer in front of a PostgreSQL: clients of no password share its few sessions. With
 * `transaction` a client has one from its first message until the server is idle again, with `session` until it goes.
 */
export class TransactionPooler {
  readonly #server: Server;
  readonly #databaseUrl: string;
  readonly #mode: 'transaction' | 'session';
  /** Free sessions. The one released last is used first, as in PgBouncer. */
  readonly #idle: Socket[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(databaseUrl: string, mode: 'transaction' | 'session') {
    this.#databaseUrl = databaseUrl;
    this.#mode = mode;
    this.#server = createServer((client) => this.#serve(client));
  }

  static async before(databaseUrl: string, mode: 'transaction' | 'session'): Promise<TransactionPooler> {
    const pooler = new TransactionPooler(databaseUrl, mode);
    pooler.#server.listen(0, '127.0.0.1');
    await once(pooler.#server, 'listening');
    return pooler;
  }

  /** The database, by way of this pooler. */
  get url(): string {
    const url = new URL(this.#databaseUrl);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(client: Socket): void {
    this.#sockets.add(client);
    let session: Promise<Socket> | undefined;
    let isStarted = false;
    const giveBack = async () => {
      const lent = await session;
      session = undefined;
      lent?.removeAllListeners('data');
      if (lent) this.#idle.push(lent);
    };
    client.on('error', () => undefined);
    client.on('close', () => void giveBack());
    client.on('data', async (bytes) => {
      if (!isStarted) {
        isStarted = true;
        client.write(Buffer.concat([AUTHENTICATION_OK, READY_FOR_QUERY]));
        return;
      }
      if (bytes[0] === TERMINATE) return void client.end();
      session ??= this.#lend(client, () => this.#mode === 'transaction' && giveBack());
      (await session).write(bytes);
    });
  }

  async #lend(client: Socket, onIdle: () => unknown): Promise<Socket> {
    const session = this.#idle.pop() ?? (await this.#open());
    let unread = Buffer.alloc(0);
    session.on('data', (bytes) => {
      client.write(bytes);
      unread = Buffer.concat([unread, bytes]);
      for (;;) {
        const length = unread.length < 5 ? Number.POSITIVE_INFINITY : unread.readUInt32BE(1) + 1;
        if (unread.length < length) return;
        const isIdle = unread[0] === READY && unread[5] === IDLE;
        unread = unread.subarray(length);
        if (isIdle) onIdle();
      }
    });
    return session;
  }

  /** A session that `pg` has opened and logged in to, without `pg`. */
  async #open(): Promise<Socket> {
    const { hostname, port } = new URL(this.#databaseUrl);
    const socket = connect(Number(port), hostname);
    this.#sockets.add(socket);
    await once(socket, 'connect');
    const login = new pg.Client({ connectionString: this.#databaseUrl, stream: () => alreadyOpen(socket) });
    await login.connect();
    socket.removeAllListeners();
    socket.on('error', () => undefined);
    return socket;
  }
}

/** `pg` connects the socket it is given, and begins when it hears of it. */
function alreadyOpen(socket: Socket): Socket {
  socket.connect = () => {
    queueMicrotask(() => socket.emit('connect'));
    return socket;
  };
  return socket;
}
