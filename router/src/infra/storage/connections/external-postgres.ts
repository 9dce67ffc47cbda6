import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../../../core/ports/logger.ts';
import { DatabaseError, type DatabaseErrorCode, errorCode, errorMessage } from '../database-errors.ts';
import { holdInstanceLock } from '../embedded/instance-lock.ts';
import { sharesSessions } from './detect-transaction-pooler.ts';
import { startHeartbeat, TimedClient } from './timed-client.ts';

/** The oldest PostgreSQL that this service is written for; earlier ones get no security fixes any more. */
const OLDEST_MAJOR = 14;

/** A database container often starts beside wa2ai: it is waited for this long. */
const START_TIMEOUT_MS = 15_000;
const RETRY_PAUSE_MS = 250;

/** Pause between two tries to get the lock back after the connection broke. */
const RELOCK_PAUSE_MS = 2_000;
/** The connection with the lock is otherwise idle, so its loss would not be noticed. */
const HEARTBEAT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 10_000;

/** Errors of a server that is not there yet. */
const NOT_YET = new Set(['ECONNREFUSED', 'EAI_AGAIN', '57P03']);

export interface ExternalPostgresOptions {
  url: string;
  /** Two processes of one node name exclude each other in one database. */
  nodeId: string;
  log: Logger;
  onProgress?: (sentence: string) => void;
  /** How long a server that is not there yet is waited for, in milliseconds. Default 15,000. */
  startTimeoutMs?: number;
}

/** The database at DATABASE_URL, with this node's name locked. */
export interface ExternalPostgres {
  url: string;
  /** A server of somebody else tells nothing when it is away. */
  readonly trouble: undefined;
  /** Gives the node's name free; the server itself is not touched. */
  stop(): Promise<void>;
  /** Nothing to do: the name is free when this process has ended. */
  abandon(): void;
}

/**
 * Connects to the operator's PostgreSQL, checks that it can be used, and holds this node's name in it until `stop`,
 * also over restarts of the server.
 * @throws {DatabaseError} DATABASE_UNREACHABLE · DATABASE_RIGHTS · DATABASE_VERSION (before 14, a replica, no UTF-8) ·
 *   DATABASE_POOLER: the URL leads through a pooler that lends sessions out one transaction at a time ·
 *   DATABASE_ALREADY_RUNNING: another live process has this node's name
 */
export async function connectExternalPostgres(options: ExternalPostgresOptions): Promise<ExternalPostgres> {
  const { url, nodeId } = options;
  const log = options.log.child({ mod: 'postgres' });
  let client = await connect(options);
  try {
    await checkServer(client, placeOf(url));
    await refusePooler(client, options);
    await hold(client, nodeId);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  const stopping = new AbortController();
  let relock: Promise<void> | undefined;

  const watch = () => {
    startHeartbeat(client, HEARTBEAT_MS);
    client.once('end', () => {
      if (!stopping.signal.aborted) relock = lockAgain();
    });
  };
  const lockAgain = async () => {
    log.warn({}, 'the connection to the database broke; trying again');
    while (!stopping.signal.aborted) {
      try {
        client = await connect({ ...options, onProgress: undefined });
        await hold(client, nodeId);
        log.info({}, 'the database is back');
        return watch();
      } catch (error) {
        await client.end().catch(() => undefined);
        log.error({ err: error }, 'the database is not back yet');
        await wait(RELOCK_PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  };

  watch();
  return {
    url,
    trouble: undefined,
    async stop() {
      stopping.abort();
      await relock;
      await client.end().catch(() => undefined);
    },
    abandon: () => undefined,
  };
}

function hold(client: pg.Client, nodeId: string): Promise<void> {
  return holdInstanceLock(client, `node ${nodeId}`, `this database under the node name "${nodeId}"`);
}

async function connect(options: ExternalPostgresOptions): Promise<pg.Client> {
  const timeoutMs = options.startTimeoutMs ?? START_TIMEOUT_MS;
  const place = placeOf(options.url);
  const beganMs = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const client = new TimedClient({
      connectionString: options.url,
      application_name: `wa2ai ${process.pid}`,
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    client.on('error', () => undefined); // `end` follows, and that is what is watched
    try {
      await client.connect();
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      const isLate = performance.now() - beganMs > timeoutMs;
      if (isLate || !NOT_YET.has(errorCode(error) ?? '')) throw explain(error, place);
      if (attempt === 1) options.onProgress?.(`Waiting for the database at ${place.server}`);
      await wait(RETRY_PAUSE_MS);
    }
  }
}

/** Locks that show who lives, and notes between nodes, need a session that stays. */
async function refusePooler(client: pg.Client, options: ExternalPostgresOptions): Promise<void> {
  const second = await connect({ ...options, onProgress: undefined });
  try {
    if (!(await sharesSessions(client, second))) return;
  } finally {
    await second.end().catch(() => undefined);
  }
  throw new DatabaseError(
    'DATABASE_POOLER',
    `DATABASE_URL: ${placeOf(options.url).server} is a pooler that shares sessions between transactions (such as PgBouncer with pool_mode = transaction), and wa2ai needs sessions of its own for its locks and LISTEN. Name the PostgreSQL server itself: hosting services call it the direct connection. A pooler in session mode will do too. A node opens about 20 connections.`,
  );
}

interface Place {
  server: string;
  database: string;
  user: string;
}

function placeOf(text: string): Place {
  const url = new URL(text);
  return {
    server: `${url.hostname || 'localhost'}:${url.port || '5432'}`,
    database: decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username),
    user: decodeURIComponent(url.username) || 'the current user',
  };
}

function explain(error: unknown, { server, database, user }: Place): DatabaseError {
  const fail = (code: DatabaseErrorCode, sentence: string) =>
    new DatabaseError(code, `DATABASE_URL: ${sentence}`, { cause: error });
  switch (errorCode(error)) {
    case '28P01':
    case '28000':
      return fail(
        'DATABASE_RIGHTS',
        `PostgreSQL at ${server} refused the user "${user}": check user and password.`,
      );
    case '3D000':
      return fail(
        'DATABASE_UNREACHABLE',
        `there is no database "${database}" at ${server}: create it first.`,
      );
    case '42501':
      return fail(
        'DATABASE_RIGHTS',
        `the user "${user}" may not connect to the database "${database}" at ${server}.`,
      );
    case '53300':
      return fail(
        'DATABASE_UNREACHABLE',
        `PostgreSQL at ${server} has no free connection: raise its max_connections.`,
      );
    default:
      return fail(
        'DATABASE_UNREACHABLE',
        `PostgreSQL at ${server} cannot be reached (${errorMessage(error)}).`,
      );
  }
}

async function checkServer(client: pg.Client, { server, database }: Place): Promise<void> {
  const { rows } = await client.query<{
    version: number;
    name: string;
    encoding: string;
    isReplica: boolean;
    isReadOnly: boolean;
    mayCreate: boolean;
  }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
            current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS "isReplica",
            current_setting('default_transaction_read_only') = 'on' AS "isReadOnly",
            has_database_privilege(current_database(), 'CREATE') OR to_regnamespace('dbos') IS NOT NULL
              AS "mayCreate"`,
  );
  const found = rows[0];
  if (found === undefined) throw new TypeError('a SELECT without FROM gives one row');
  const refuse = (code: DatabaseErrorCode, sentence: string) => {
    throw new DatabaseError(code, `DATABASE_URL: ${sentence}`);
  };
  if (found.version < OLDEST_MAJOR * 10_000) {
    refuse(
      'DATABASE_VERSION',
      `PostgreSQL at ${server} is version ${found.name}; wa2ai needs ${OLDEST_MAJOR} or newer.`,
    );
  }
  if (found.isReplica) {
    refuse('DATABASE_VERSION', `PostgreSQL at ${server} is a read-only replica; name the primary server.`);
  }
  if (found.isReadOnly) {
    refuse(
      'DATABASE_RIGHTS',
      `the database "${database}" at ${server} takes no writes from this user: default_transaction_read_only is on. Set it off for the database and the user.`,
    );
  }
  if (found.encoding !== 'UTF8') {
    refuse(
      'DATABASE_VERSION',
      `the database "${database}" at ${server} keeps texts as ${found.encoding}; create it with ENCODING 'UTF8'.`,
    );
  }
  if (!found.mayCreate) {
    refuse(
      'DATABASE_RIGHTS',
      `the user may not create schemas in the database "${database}" at ${server}: GRANT CREATE ON DATABASE "${database}" to it.`,
    );
  }
}
