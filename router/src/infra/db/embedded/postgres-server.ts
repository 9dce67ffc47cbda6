import { type ChildProcess, spawn } from 'node:child_process';
import { chown, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, errorCode } from '../database-errors.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { openFolder, type ServerFolder } from './postgres-folder.ts';
import type { ServerUser } from './postgres-user.ts';

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
  // loopback only: the path of a socket file in a deep folder would exceed 107 characters
  unix_socket_directories: '',
  max_connections: '60',
  shared_buffers: '32MB',
  fsync: 'on',
  synchronous_commit: 'on',
  max_wal_size: '256MB',
  // an idle server wakes up less often; commits that a message waits for are written at once
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
 * Starts the server and returns at once; it is ready when it accepts a connection.
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
    // a signal ends a Windows process at once; pg_ctl does not
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
