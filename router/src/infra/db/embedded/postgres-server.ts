import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { PostgresClient } from '../connections/postgres-client.ts';
import { createFile, readIfThere } from '../files.ts';
import { DatabaseError, errorCode } from '../stores/storage-errors.ts';
import type { PostgresBinaries, ServerUser } from './postgres-binaries.ts';
import { openFolder, type ServerFolder } from './postgres-folder.ts';

/** Name of the database and of the superuser in the embedded PostgreSQL. */
export const DATABASE_NAME = 'wa2ai';

/** A longer log is rotated at the next start; one old file is kept. */
const MAX_LOG_BYTES = 1_000_000;

/** How many characters of PostgreSQL's messages an error quotes. */
const LOG_TAIL_CHARS = 600;

/** A message without its time and process id. Tools write `error` and `hint`, the server the others. */
const MESSAGE = /\b(?:ERROR|FATAL|PANIC|HINT|error|hint): .*/;

/**
 * Small enough for a machine with other programs, and durable: a committed message survives a power cut. Errors are logged
 * without their statement and detail, which contain phone numbers and texts.
 */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  // loopback only: the path of a Unix socket in a deep folder would exceed 107 characters
  unix_socket_directories: '',
  max_connections: '60',
  shared_buffers: '32MB',
  fsync: 'on',
  synchronous_commit: 'on',
  max_wal_size: '256MB',
  // an idle server wakes up less often; commits that a message waits for are written immediately
  bgwriter_delay: '2s',
  wal_writer_delay: '1s',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '0',
  io_method: 'sync',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
};

/**
 * Creates a database cluster in `folder.data`, owned by `user`, accessible with the password only.
 * `folder.root` must exist and be empty. Takes about a second.
 */
export async function createCluster(
  folder: ServerFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
  password: string,
): Promise<void> {
  if (user) await chown(folder.root, user.uid, user.gid);
  await writeFile(folder.password, password, { mode: 0o600 });
  if (user) await chown(folder.password, user.uid, user.gid);
  const access = await openFolder(folder, user);
  try {
    await run(
      binaries.initdb,
      [
        ['-D', join(access.root, 'data')],
        ['--username', DATABASE_NAME],
        ['--pwfile', join(access.root, 'password')],
        ['--auth', 'scram-sha-256'],
        ['--encoding', 'UTF8'],
        // the same sort order on every machine
        ['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C'],
      ].flat(),
      { user, handle: access.handle },
    );
    await run(
      binaries.postgres,
      ['--single', '-D', join(access.root, 'data'), 'postgres'],
      { user, handle: access.handle },
      `CREATE DATABASE ${DATABASE_NAME}\n`,
    );
  } finally {
    await access.close();
  }
}

interface SpawnContext {
  user: ServerUser | undefined;
  handle: number | 'ignore';
}

function environment(): NodeJS.ProcessEnv {
  if (process.platform === 'win32') return process.env;
  return { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

async function run(program: string, args: string[], context: SpawnContext, input = ''): Promise<void> {
  const child = spawn(program, args, {
    ...context.user,
    cwd: context.user ? '/' : undefined,
    env: environment(),
    stdio: ['pipe', 'pipe', 'pipe', context.handle],
    windowsHide: true,
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin?.on('error', () => undefined); // it ended without reading; its exit code says why
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(startFailure(program, error)));
    child.once('close', resolve);
  });
  if (code !== 0) {
    throw new DatabaseError(
      'DATABASE_START',
      `The database could not be created (exit code ${code}): ${messagesIn(output)}.`,
    );
  }
}

function startFailure(program: string, cause: unknown): DatabaseError {
  return new DatabaseError(
    'DATABASE_START',
    `${program} could not be started (${errorCode(cause) ?? 'unknown error'}). Run "npm ci" again, or set DATABASE_URL.`,
    { cause },
  );
}

/** The messages of PostgreSQL or one of its tools in one line; its last line if there is no message. */
function messagesIn(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const messages = lines.flatMap((line) => MESSAGE.exec(line)?.[0] ?? []);
  const quoted = messages.length > 0 ? messages : lines.slice(-1);
  const words = quoted.join('; ').replace(/\s+/g, ' ').trimEnd();
  return (words.endsWith('.') ? words.slice(0, -1) : words).slice(-LOG_TAIL_CHARS);
}

/** A PostgreSQL that this process started. It survives this process: the next start takes it over. */
export interface LaunchedServer {
  pid: number | undefined;
  /** Undefined while it runs; its last messages once it has ended. */
  ended(): string | undefined;
}

/**
 * Starts the server and returns immediately; it is ready when it accepts a connection.
 * @param settings replace those of every server
 * @throws {DatabaseError} DATABASE_START: the program is missing or may not be run
 */
export async function launchServer(
  folder: ServerFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
  port: number,
  settings: Record<string, string>,
): Promise<LaunchedServer> {
  await rotateLog(folder.log);
  const access = await openFolder(folder, user);
  const log = await open(folder.log, 'a', 0o600);
  if (user) await log.chown(user.uid, user.gid);
  const logStart = (await log.stat()).size;
  try {
    const options = Object.entries({ ...SETTINGS, ...settings, port: String(port) });
    const child = spawn(
      binaries.postgres,
      ['-D', join(access.root, 'data'), ...options.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...user,
        cwd: user ? '/' : undefined,
        env: environment(),
        stdio: ['ignore', log.fd, log.fd, access.handle],
        // a separate session: Ctrl-C in the terminal is for wa2ai, which stops the database last
        detached: true,
        windowsHide: true,
      },
    );
    await started(child, binaries.postgres);
    child.unref();
    const watch: { failure?: string } = {};
    child.once('exit', async (code) => {
      const bytes = await readFile(folder.log).catch(() => Buffer.alloc(0));
      watch.failure = messagesIn(bytes.toString('utf8', logStart)) || `exit code ${code}`;
    });
    return { pid: child.pid, ended: () => watch.failure };
  } finally {
    await log.close();
    await access.close();
  }
}

function started(child: ChildProcess, program: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(startFailure(program, error)));
  });
}

async function rotateLog(log: string): Promise<void> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rename(log, `${log}.1`);
}

/**
 * Stops a server: `fast` rolls back transactions in flight, `immediate` skips the checkpoint.
 * @param pid of a server that is known to be this folder's
 */
export function stopServerProcess(
  pid: number,
  mode: 'fast' | 'immediate',
  folder: ServerFolder,
  binaries: PostgresBinaries,
): void {
  if (process.platform === 'win32') {
    // a signal ends a Windows process immediately; pg_ctl does not
    const child = spawn(binaries.pgCtl, ['stop', '-D', folder.data, '-m', mode, '-W'], { stdio: 'ignore' });
    child.once('error', () => undefined); // noticed as a server that does not stop
    return;
  }
  try {
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/**
 * The role that the service connects as: owner of the database and of everything in it, and not superuser, so that a statement
 * that an attacker may change cannot run programs or read files of the host. The superuser, named as the database, is for
 * PostgresSupervisor alone.
 */
const SERVICE_ROLE = 'service';

const PASSWORD = /^[0-9a-f]{48}$/;

const IS_RESTRICTED = `(rolcanlogin AND NOT (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls))`;

/**
 * One statement for each object of the database that belongs to the current user: to the superuser, as all did before
 * wa2ai had a role for the service. Sequences of columns, indexes and types of tables follow their table.
 */
const MOVES = `
  WITH own AS (SELECT oid FROM pg_roles WHERE rolname = current_user),
  space AS (
    SELECT n.oid, n.nspname, n.nspowner FROM pg_namespace n
    WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  ),
  dependent AS (SELECT objid FROM pg_depend WHERE deptype = 'e' OR (deptype IN ('a', 'i') AND classid = 'pg_class'::regclass))
  SELECT format('ALTER DATABASE %I OWNER TO ${SERVICE_ROLE}', d.datname) AS move
    FROM pg_database d, own WHERE d.datname = current_database() AND d.datdba = own.oid
  UNION ALL
  SELECT format('ALTER SCHEMA %I OWNER TO ${SERVICE_ROLE}', s.nspname) FROM space s, own WHERE s.nspowner = own.oid
  UNION ALL
  SELECT format('ALTER %s %s OWNER TO ${SERVICE_ROLE}', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
      WHEN 'S' THEN 'SEQUENCE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END, c.oid::regclass)
    FROM pg_class c JOIN space s ON s.oid = c.relnamespace, own
    WHERE c.relowner = own.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'c')
      AND (c.relkind = 'r' OR c.oid NOT IN (SELECT objid FROM dependent))
  UNION ALL
  SELECT format('ALTER ROUTINE %s OWNER TO ${SERVICE_ROLE}', p.oid::regprocedure)
    FROM pg_proc p JOIN space s ON s.oid = p.pronamespace, own
    WHERE p.proowner = own.oid AND p.oid NOT IN (SELECT objid FROM dependent)
  UNION ALL
  SELECT format('ALTER TYPE %s OWNER TO ${SERVICE_ROLE}', t.oid::regtype)
    FROM pg_type t JOIN space s ON s.oid = t.typnamespace, own
    WHERE t.typowner = own.oid AND t.typtype IN ('e', 'd') AND t.oid NOT IN (SELECT objid FROM dependent)`;

/**
 * Makes sure that the service can connect as a role without superuser that owns the database. Creates the role and its password
 * file at the first start, and moves what belongs to the superuser: everything in a folder of an older wa2ai, also after such
 * a version ran on it again. Writes nothing if there is nothing to do.
 * @param superuser a connection that has the lock of the data folder, with the search path `pg_catalog`
 * @returns the URL of the service; contains the password
 */
export async function prepareServiceRole(
  superuser: pg.Client,
  folder: ServerFolder,
  user: ServerUser | undefined,
  port: number,
): Promise<string> {
  const known = await readServicePassword(folder);
  const { rows: roles } = await superuser.query<{ isRestricted: boolean }>(
    `SELECT ${IS_RESTRICTED} AS "isRestricted" FROM pg_roles WHERE rolname = '${SERVICE_ROLE}'`,
  );
  const { rows: moves } = await superuser.query<{ move: string }>(MOVES);
  if (known !== undefined && roles[0]?.isRestricted && moves.length === 0) {
    const url = serviceUrl(known, port);
    if (await accepts(url)) return url;
  }
  const password = known ?? (await createPassword(folder, user));
  await superuser.query('BEGIN');
  try {
    if (roles.length === 0) await superuser.query(`CREATE ROLE ${SERVICE_ROLE}`);
    await superuser.query(
      `ALTER ROLE ${SERVICE_ROLE} LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS PASSWORD '${password}'`,
    );
    for (const { move } of moves) await superuser.query(move);
    await superuser.query('COMMIT');
  } catch (error) {
    await superuser.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
  return serviceUrl(password, port);
}

/**
 * The URL of a server that a service may be using, by the files of its folder; that of the superuser while a wa2ai without a
 * role for the service runs. Contains the password.
 */
export async function urlOfFolder(folder: ServerFolder, port: number): Promise<string> {
  const password = await readServicePassword(folder);
  if (password !== undefined) return serviceUrl(password, port);
  return urlOf(DATABASE_NAME, (await readFile(folder.password, 'utf8')).trim(), port);
}

function urlOf(role: string, password: string, port: number): string {
  return `postgresql://${role}:${password}@127.0.0.1:${port}/${DATABASE_NAME}`;
}

function serviceUrl(password: string, port: number): string {
  return urlOf(SERVICE_ROLE, password, port);
}

/** Undefined if there is none, or it is not one that wa2ai wrote: it goes into a statement. */
async function readServicePassword(folder: ServerFolder): Promise<string | undefined> {
  const text = (await readIfThere(folder.servicePassword))?.trim();
  return text !== undefined && PASSWORD.test(text) ? text : undefined;
}

async function createPassword(folder: ServerFolder, user: ServerUser | undefined): Promise<string> {
  await rm(folder.servicePassword, { force: true });
  const password = await createFile(folder.servicePassword, randomBytes(24).toString('hex'), 0o600);
  if (user) await chown(folder.servicePassword, user.uid, user.gid);
  return password;
}

async function accepts(url: string): Promise<boolean> {
  const client = new PostgresClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  const isAccepted = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  return isAccepted;
}
