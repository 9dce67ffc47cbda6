import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';

/** Values of `sslmode` that libpq knows. */
const MODES = new Set(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']);

/**
 * A connection with the TLS that libpq makes of `sslmode` and `sslrootcert` in `connectionString`. pg verifies the
 * certificate in every mode but `disable`, and never goes on without TLS.
 * - `prefer` and `allow`: TLS without verification when the server offers it, else none. libpq's `allow` tries without TLS
 *   first; the servers that can be reached are the same.
 * - `require`: TLS without verification; with `sslrootcert` as `verify-ca`
 * - `verify-ca`: the certificate must be signed by `sslrootcert`
 * - `verify-full`: the certificate must also be for the host. Without `sslrootcert`, or with `system`, the signers are those
 *   of Node.js, and `verify-ca` and `require` with `system` also verify the host: anybody can have a certificate of theirs.
 *
 * Without `sslmode` there is no TLS.
 * @see https://www.postgresql.org/docs/current/libpq-ssl.html
 */
export class PostgresClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    const { url, mayBePlain } = libpqUrl(config.connectionString);
    super({ ...config, ...(url !== undefined && { connectionString: url }) });
    if (mayBePlain) continueWithoutTls(this.connection as unknown as Wire);
  }
}

/** The URL as pg must read it. */
function libpqUrl(text: string | undefined): { url?: string; mayBePlain: boolean } {
  if (text === undefined || !URL.canParse(text)) return { mayBePlain: false };
  const url = new URL(text);
  const parameters = url.searchParams;
  const mode = parameters.get('sslmode') ?? '';
  if (!MODES.has(mode)) return { mayBePlain: false };
  const isSystem = parameters.get('sslrootcert') === 'system';
  if (isSystem) parameters.delete('sslrootcert');
  const hasSigner = parameters.has('sslrootcert');
  const mayBePlain = (mode === 'prefer' || mode === 'allow') && !isSystem;
  if (mayBePlain) parameters.set('sslmode', 'prefer');
  else if (mode !== 'disable' && (isSystem || (mode === 'verify-ca' && !hasSigner)))
    parameters.set('sslmode', 'verify-full');
  parameters.set('uselibpqcompat', 'true');
  return { url: url.href, mayBePlain };
}

/** What pg's connection has beside its types. */
interface Wire extends EventEmitter {
  stream: Duplex;
  ssl: unknown;
  attachListeners(stream: Duplex): void;
}

/** The protocol goes on without TLS on the same connection after the server has refused it with `N`; pg ends it. */
function continueWithoutTls(wire: Wire): void {
  wire.once('connect', () => {
    const { stream } = wire;
    const [upgrade] = stream.rawListeners('data');
    if (!wire.ssl || !upgrade) return;
    stream.removeAllListeners('data');
    stream.once('data', (answer: Buffer) => {
      if (answer.toString('latin1') !== 'N') {
        Reflect.apply(upgrade, stream, [answer]);
        return;
      }
      wire.ssl = false;
      wire.attachListeners(stream);
      wire.emit('sslconnect');
    });
  });
}

/**
 * Longest wait for a response of PostgreSQL, in milliseconds. Longer than any statement of wa2ai takes, including the wait
 * for a row that a hung process has locked (15 s, postgres.ts).
 */
const RESPONSE_TIMEOUT_MS = 30_000;

interface TimedClientConfig extends pg.ClientConfig {
  /** Default 30,000. */
  responseTimeoutMs?: number;
}

/**
 * A connection that ends itself when the server owes a response for longer than the limit; its pending statements fail as
 * if the connection broke. A host that disappears without closing its connections (a fail-over, a power cut) would
 * otherwise leave them waiting until TCP's keepalive gives up, which takes minutes to hours.
 */
export class TimedClient extends PostgresClient {
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: TimedClientConfig = {}) {
    super(config);
    this.#timeoutMs = config.responseTimeoutMs ?? RESPONSE_TIMEOUT_MS;
    // A busy connection of a pool emits "drain" seldom: the next statement is sent in the same tick as the response.
    this.connection.on('readyForQuery', () => this.#timer?.refresh());
    this.on('drain', () => this.#clear());
    this.on('end', () => this.#clear());
  }

  /** `pg.Client.query` in all its forms, with the limit. */
  override query(...args: unknown[]): never {
    this.#timer ??= setTimeout(() => void this.end().catch(() => undefined), this.#timeoutMs).unref();
    return Reflect.apply(super.query, this, args) as never;
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Sends a statement now and then on a connection that is otherwise idle, so that a TimedClient notices a server that is
 * gone. Stops when the connection ends.
 */
export function startHeartbeat(client: pg.Client, everyMs: number): void {
  let isAnswered = true;
  const ask = async () => {
    if (!isAnswered) return;
    isAnswered = false;
    await client.query('SELECT 1').catch(() => undefined);
    isAnswered = true;
  };
  const timer = setInterval(() => void ask(), everyMs).unref();
  client.once('end', () => clearInterval(timer));
}

interface PostgresPoolOptions {
  /** Shown in pg_stat_activity. */
  name: string;
  /** Maximum number of connections, from 1. */
  size: number;
  /** Longest wait for a connection, in milliseconds. */
  connectTimeoutMs: number;
  /** Statements that each new connection starts with. */
  settings: string;
}

/** Connections to the database at `url`, opened when needed, replaced when they break. Each is a TimedClient. */
export function createPostgresPool(url: string, options: PostgresPoolOptions): pg.Pool {
  const { name, size, connectTimeoutMs, settings } = options;
  const pool = new pg.Pool({
    Client: TimedClient,
    connectionString: url,
    max: size,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: name,
    // Not as startup parameters: a pooler refuses them, and `options` of the URL would replace them.
    onConnect: async (client) => {
      await client.query(settings);
    },
  });
  pool.on('error', () => undefined); // an idle connection broke; the pool has removed it
  return pool;
}
