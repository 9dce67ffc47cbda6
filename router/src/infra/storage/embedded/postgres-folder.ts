import { chmod, chown, lchown, open, readdir, readFile, rm, stat, unlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseError, errorCode } from '../database-errors.ts';
import { canReach, type ServerUser } from './postgres-user.ts';

/** The files of one built-in database: `postgres/` inside the data folder. */
export interface ServerFolder {
  root: string;
  /** PostgreSQL's own data folder. */
  data: string;
  password: string;
  port: string;
  log: string;
}

/** The names inside `root`. */
export function serverFolder(root: string): ServerFolder {
  return {
    root,
    data: join(root, 'data'),
    password: join(root, 'password'),
    port: join(root, 'port'),
    log: join(root, 'postgres.log'),
  };
}

/** How a program of PostgreSQL names the folder: by its path, or by a handle when its user may not pass the parents. */
export interface FolderAccess {
  /** Stands for `ServerFolder.root`. */
  root: string;
  /** Passed to the program as file descriptor 3. */
  handle: number | 'ignore';
  close(): Promise<void>;
}

/**
 * Opens the folder for `user`. On Linux a folder below a private home (root's own is 0700) is handed over as an open
 * descriptor: nobody's rights have to be widened, and the data stays where the operator put it.
 */
export async function openFolder(folder: ServerFolder, user: ServerUser | undefined): Promise<FolderAccess> {
  if (user === undefined || (await canReach(user, folder.root))) {
    return { root: folder.root, handle: 'ignore', close: async () => undefined };
  }
  if (process.platform !== 'linux') {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `PostgreSQL does not run as root, and the user it runs as (uid ${user.uid}) cannot reach ${folder.root}. Start wa2ai as an ordinary user, or set WA2AI_DATA_DIR to a folder that others may pass.`,
    );
  }
  const handle = await open(folder.root, 'r');
  return { root: '/proc/self/fd/3', handle: handle.fd, close: () => handle.close() };
}

/** What a running or killed server wrote about itself. */
export interface PidFile {
  text: string;
  pid: number;
  /** Undefined while the server has not opened its port. */
  port: number | undefined;
}

/** Reads `postmaster.pid`; undefined when there is none. */
export async function readPidFile(folder: ServerFolder): Promise<PidFile | undefined> {
  try {
    return parsePidFile(await readFile(join(folder.data, 'postmaster.pid'), 'utf8'));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Process id in line 1 and port in line 4 (PostgreSQL, storage/lmgr: lock file contents). */
export function parsePidFile(text: string): PidFile {
  const lines = text.split('\n');
  const port = Number(lines[3]);
  return { text, pid: Number(lines[0]), port: Number.isInteger(port) && port > 0 ? port : undefined };
}

/**
 * Removes a `postmaster.pid` whose process id now belongs to another program or to an unreaped process: PostgreSQL
 * itself would take it for a running server and refuse to start for ever.
 */
export async function removeStalePidFile(folder: ServerFolder, stale: PidFile): Promise<void> {
  const current = await readPidFile(folder);
  if (current?.text === stale.text) await unlink(join(folder.data, 'postmaster.pid')).catch(() => undefined);
}

/** Whether a live process of this id may be a PostgreSQL server. Without /proc, any live process may be. */
export async function mayBePostgres(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) !== 'EPERM') return false;
  }
  if (process.platform !== 'linux') return true;
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(status) ?? [];
  return name === 'postgres' && state !== 'Z';
}

/** A free port on the loopback interface; `wanted` when that one is free. */
export async function findFreePort(wanted?: number): Promise<number> {
  const server = createServer();
  const port = await new Promise<number | undefined>((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ port: wanted ?? 0, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : undefined);
    });
  });
  await new Promise((resolve) => server.close(resolve));
  if (port !== undefined) return port;
  if (wanted !== undefined) return findFreePort();
  throw new DatabaseError('DATABASE_START', 'No free port was found on 127.0.0.1 for the database.');
}

/** Gives a whole folder to `user`; for data that root copied or restored. */
export async function giveTo(user: ServerUser, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), user.uid, user.gid);
  }
  await chown(folder, user.uid, user.gid);
  await chmod(folder, 0o700);
}

/** Removes folders of starts that were killed while they created a database. */
export async function removeHalfMade(parent: string, prefix: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const path = join(parent, name);
    const ageMs =
      Date.now() -
      (await stat(path).then(
        (found) => found.mtimeMs,
        () => Date.now(),
      ));
    if (ageMs > 600_000 || !isAlive(pid)) await rm(path, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
