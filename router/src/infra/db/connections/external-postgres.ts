import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { within } from '../../../core/clock.ts';
import { Wa2aiError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { systemClock } from '../../clock/system-clock.ts';
import type { RunningPostgres } from '../embedded/embedded-postgres.ts';
import { DatabaseError, type DatabaseErrorCode, errorCode, errorMessage } from '../stores/storage-errors.ts';
import { troubleOf } from '../upkeep/storage-faults.ts';
import { takeInstanceLock } from './node-connection.ts';
import { PostgresClient, startHeartbeat, TimedClient } from './postgres-client.ts';

/** The oldest supported PostgreSQL; earlier ones get no security fixes. */
const OLDEST_MAJOR = 14;

/** A database container often starts together with wa2ai. */
const START_TIMEOUT_MS = 15_000;
const RETRY_PAUSE_MS = 250;

/** Pause between attempts to take the lock again after the connection broke. */
const RELOCK_PAUSE_MS = 2_000;
/** The connection with the lock is otherwise idle, so its loss would not be noticed. */
const HEARTBEAT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 10_000;

/** Errors of a server that has not started yet. */
const NOT_READY = new Set(['ECONNREFUSED', 'EAI_AGAIN', '57P03']);

interface ExternalPostgresOptions {
  url: string;
  /** Two processes of one node name exclude each other in one database. */
  nodeId: string;
  log: Logger;
  /** How long to wait for a server that has not started yet, in milliseconds. Default 15,000. */
  startTimeoutMs?: number;
}

/**
 * Connects to the operator's PostgreSQL, checks that it can be used, and locks this node's name in it until `stop`, also
 * after restarts of the server.
 * @throws {DatabaseError} DATABASE_UNREACHABLE · DATABASE_RIGHTS · DATABASE_VERSION (before 14, a replica, no UTF-8) ·
 *   DATABASE_POOLER: the URL leads through a pooler that shares sessions between transactions ·
 *   DATABASE_ALREADY_RUNNING: another process has this node's name
 */
export async function connectExternalPostgres(options: ExternalPostgresOptions): Promise<RunningPostgres> {
  const { url, nodeId } = options;
  const log = options.log.child({ mod: 'postgres' });
  let client = await connect(options);
  try {
    await checkServer(client, addressOf(url));
    await refusePooler(client, options);
    await lockName(client, nodeId);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  const stopping = new AbortController();
  let relocking: Promise<void> | undefined;

  const watch = () => {
    startHeartbeat(client, HEARTBEAT_MS);
    client.once('end', () => {
      if (!stopping.signal.aborted) relocking = relock();
    });
  };
  const relock = async () => {
    log.warn({}, 'database connection lost, reconnecting');
    while (!stopping.signal.aborted) {
      try {
        client = await connect(options);
        await lockName(client, nodeId);
        log.info({}, 'database connected again');
        return watch();
      } catch (error) {
        await client.end().catch(() => undefined);
        log.error({ err: error }, 'cannot reconnect to the database, retrying');
        await wait(RELOCK_PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  };

  watch();
  return {
    url,
    trouble: undefined, // why an operator's server does not respond is not known here
    async stop() {
      stopping.abort();
      await relocking;
      await client.end().catch(() => undefined);
    },
    abandon: () => undefined, // the server releases the lock when this process ends
  };
}

function lockName(client: pg.Client, nodeId: string): Promise<void> {
  return takeInstanceLock(client, `node ${nodeId}`, `this database under the node name "${nodeId}"`);
}

async function connect(options: ExternalPostgresOptions): Promise<pg.Client> {
  const timeoutMs = options.startTimeoutMs ?? START_TIMEOUT_MS;
  const address = addressOf(options.url);
  const startedMs = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const client: pg.Client = new TimedClient({
      connectionString: options.url,
      application_name: `wa2ai ${process.pid} lock`,
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
      const isLate = performance.now() - startedMs > timeoutMs;
      if (isLate || !NOT_READY.has(errorCode(error) ?? '')) throw explainConnectError(error, address);
      if (attempt === 1) options.log.info({ server: address.server }, 'waiting for the database');
      await wait(RETRY_PAUSE_MS);
    }
  }
}

/** Advisory locks and LISTEN need a session that belongs to the connection. */
async function refusePooler(client: pg.Client, options: ExternalPostgresOptions): Promise<void> {
  const second = await connect(options);
  try {
    if (!(await sharesSessions(client, second))) return;
  } finally {
    await second.end().catch(() => undefined);
  }
  throw new DatabaseError(
    'DATABASE_POOLER',
    `DATABASE_URL names a pooler at ${addressOf(options.url).server} that shares sessions between transactions (such as PgBouncer with pool_mode = transaction), and wa2ai needs its own sessions for locks and LISTEN. Name the PostgreSQL server itself (hosting services call it the direct connection), or a pooler in session mode. A node opens up to 16 connections.`,
  );
}

async function checkServer(client: pg.Client, { server, database, user }: DatabaseAddress): Promise<void> {
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
  if (found === undefined) throw new TypeError('a SELECT without FROM returns one row');
  const refuse = (code: DatabaseErrorCode, reason: string) => {
    throw new DatabaseError(code, `Cannot use the database "${database}" at ${server}: ${reason}`);
  };
  if (found.version < OLDEST_MAJOR * 10_000) {
    refuse(
      'DATABASE_VERSION',
      `it is PostgreSQL ${found.name}, and wa2ai needs ${OLDEST_MAJOR} or newer. Update the server.`,
    );
  }
  if (found.isReplica) {
    refuse('DATABASE_VERSION', 'it is a read-only replica. Name the primary server in DATABASE_URL.');
  }
  if (found.isReadOnly) {
    refuse(
      'DATABASE_RIGHTS',
      'default_transaction_read_only is on. Set it to off for the database and the user.',
    );
  }
  if (found.encoding !== 'UTF8') {
    refuse(
      'DATABASE_VERSION',
      `its encoding is ${found.encoding}. Create the database with ENCODING 'UTF8'.`,
    );
  }
  if (!found.mayCreate) {
    refuse(
      'DATABASE_RIGHTS',
      `the user "${user}" may not create schemas. GRANT CREATE ON DATABASE "${database}" TO "${user}".`,
    );
  }
}

/** A pooler reuses the session that was returned last, so one attempt is usually enough; others may use the same pooler. */
const ATTEMPTS = 5;
/** A longer response means waiting for a session. */
const RESPONSE_MS = 5_000;
/** `protocol_violation`: a pooler that shares sessions between statements refuses BEGIN with it. */
const PROTOCOL_VIOLATION = '08P01';

/**
 * Whether two connections share sessions, as behind PgBouncer with `pool_mode = transaction`: while an open transaction
 * of the second one occupies its session, the session of the first one is read. Direct connections, and those through a
 * pooler in session mode, keep their own.
 */
export async function sharesSessions(first: pg.Client, second: pg.Client): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await sessionOf(first);
    try {
      await second.query('BEGIN');
    } catch (error) {
      if (errorCode(error) === PROTOCOL_VIOLATION) return true;
      throw error;
    }
    if ((await sessionOf(second)) === before || (await sessionOf(first)) !== before) return true;
    await second.query('ROLLBACK');
  }
  return false;
}

/** The server process of the connection; undefined if none is free. A late response ends with its connection. */
async function sessionOf(client: pg.Client): Promise<number | undefined> {
  const asked = client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return (await within(systemClock, RESPONSE_MS, asked))?.rows[0]?.pid;
}

/** Parts of a database URL for messages; no password. */
interface DatabaseAddress {
  /** Host and port. */
  server: string;
  database: string;
  user: string;
}

export function addressOf(text: string): DatabaseAddress {
  const url = new URL(text);
  return {
    server: `${url.hostname || 'localhost'}:${url.port || '5432'}`,
    database: decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username),
    user: decodeURIComponent(url.username) || 'the current user',
  };
}

/** A failed connection in words for the operator. */
export function explainConnectError(error: unknown, address: DatabaseAddress): DatabaseError {
  const { server, database, user } = address;
  const fail = (code: DatabaseErrorCode, reason: string) =>
    new DatabaseError(code, `Cannot connect to PostgreSQL at ${server}: ${reason}`, { cause: error });
  switch (errorCode(error)) {
    case '28P01':
      return fail('DATABASE_RIGHTS', `password rejected for user "${user}". Check DATABASE_URL.`);
    case '28000':
      return fail(
        'DATABASE_RIGHTS',
        `user "${user}" rejected. Check DATABASE_URL and the server's pg_hba.conf.`,
      );
    case '3D000':
      return fail(
        'DATABASE_UNREACHABLE',
        `database "${database}" does not exist. Create it, or correct DATABASE_URL.`,
      );
    case '42501':
      return fail(
        'DATABASE_RIGHTS',
        `user "${user}" may not connect to database "${database}". Grant it CONNECT.`,
      );
    case '53300':
      return fail('DATABASE_UNREACHABLE', 'no free connection. Raise max_connections of the server.');
    default:
      return fail(
        'DATABASE_UNREACHABLE',
        `${errorMessage(error)}. Check that the server runs and that DATABASE_URL names it.`,
      );
  }
}

/**
 * Runs a step of the start on one connection, which ends with it. A statement may take as long as it needs: a migration of a
 * large table does.
 * @param step shown in pg_stat_activity
 * @throws {DatabaseError} DATABASE_UNREACHABLE or DATABASE_RIGHTS: there is no connection; DATABASE_RIGHTS: a right is
 *   missing; DATABASE_MIGRATION: a statement failed; and those of `work`
 */
export async function withConnection<T>(
  url: string,
  step: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new PostgresClient({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: `wa2ai ${process.pid} ${step}`,
  });
  client.on('error', () => undefined); // the query in flight rejects with the same error
  try {
    await client.connect();
  } catch (error) {
    throw explainConnectError(error, addressOf(url));
  }
  try {
    return await work(client);
  } catch (error) {
    throw explainStep(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function explainStep(error: unknown): unknown {
  if (error instanceof Wa2aiError) return error;
  const reason = errorMessage(error);
  const cause = { cause: error };
  if (errorCode(error) === '42501') {
    return new DatabaseError(
      'DATABASE_RIGHTS',
      `The database user lacks a privilege: ${reason}. Grant it CREATE on the database and on its schema, and SELECT, INSERT, UPDATE and DELETE on all tables of wa2ai.`,
      cause,
    );
  }
  const trouble = troubleOf(errorCode(error), error);
  if (trouble) return new DatabaseError('DATABASE_MIGRATION', trouble.said.sentence, cause);
  return new DatabaseError('DATABASE_MIGRATION', `The database could not be prepared: ${reason}.`, cause);
}
