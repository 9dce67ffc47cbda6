import { chmod, chown, lchown, open, readdir, readFile, rm, stat, unlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readIfThere } from '../files.ts';
import { DatabaseError, errorCode } from '../stores/storage-errors.ts';
import { canReach, type ServerUser } from './postgres-binaries.ts';

/** The files of an embedded database: `postgres/` inside the data folder. */
export interface ServerFolder {
  root: string;
  /** PostgreSQL's own data folder. */
  data: string;
  /** Of the superuser. */
  password: string;
  /** Of the role that the service connects as. */
  servicePassword: string;
  port: string;
  log: string;
}

/** The names inside `root`. */
export function serverFolder(root: string): ServerFolder {
  return {
    root,
    data: join(root, 'data'),
    password: join(root, 'password'),
    servicePassword: join(root, 'service-password'),
    port: join(root, 'port'),
    log: join(root, 'postgres.log'),
  };
}

/** How a program of PostgreSQL addresses the folder: by its path, or by a descriptor if its user may not enter a parent. */
interface FolderAccess {
  /** The path to use for `ServerFolder.root`. */
  root: string;
  /** Passed to the program as file descriptor 3. */
  handle: number | 'ignore';
  close(): Promise<void>;
}

/**
 * Opens the folder for `user`. On Linux a folder below a private one (root's home is 0700) is passed as an open
 * descriptor: no permission has to be widened, and the data stays where the operator wants it.
 */
export async function openFolder(folder: ServerFolder, user: ServerUser | undefined): Promise<FolderAccess> {
  if (user === undefined || (await canReach(user, folder.root))) {
    return { root: folder.root, handle: 'ignore', close: async () => undefined };
  }
  if (process.platform !== 'linux') {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `PostgreSQL does not run as root, and the user it runs as (uid ${user.uid}) cannot reach ${folder.root}. Start wa2ai as an ordinary user, or set WA2AI_DATA_DIR to a folder that this user may enter.`,
    );
  }
  const handle = await open(folder.root, 'r');
  return { root: '/proc/self/fd/3', handle: handle.fd, close: () => handle.close() };
}

/** The file `postmaster.pid` of a running or killed server. */
interface PidFile {
  text: string;
  pid: number;
  /** Undefined until the server has opened its port. */
  port: number | undefined;
}

/** Reads `postmaster.pid`; undefined if there is none. */
export async function readPidFile(folder: ServerFolder): Promise<PidFile | undefined> {
  const text = await readIfThere(join(folder.data, 'postmaster.pid'));
  return text === undefined ? undefined : parsePidFile(text);
}

/** Process id in line 1 and port in line 4 (PostgreSQL, storage/lmgr: lock file contents). */
function parsePidFile(text: string): PidFile {
  const lines = text.split('\n');
  const port = Number(lines[3]);
  return { text, pid: Number(lines[0]), port: Number.isInteger(port) && port > 0 ? port : undefined };
}

/**
 * Removes a `postmaster.pid` whose process id now belongs to another program or a zombie: PostgreSQL would take it for a
 * running server and never start.
 */
export async function removeStalePidFile(folder: ServerFolder, stale: PidFile): Promise<void> {
  const current = await readPidFile(folder);
  if (current?.text === stale.text) await unlink(join(folder.data, 'postmaster.pid')).catch(() => undefined);
}

/** Whether a running process of this id may be a PostgreSQL server. Without /proc, any process may be. */
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

/** A free port on the loopback interface; `wanted` if that one is free. */
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
  throw new DatabaseError(
    'DATABASE_START',
    'There is no free port on 127.0.0.1 for the embedded database. End programs that use many ports, or set DATABASE_URL.',
  );
}

/** Makes `user` the owner of a folder and everything in it, for data that root restored. */
export async function chownFolder(user: ServerUser, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), user.uid, user.gid);
  }
  await chown(folder, user.uid, user.gid);
  await chmod(folder, 0o700);
}

/** Removes folders of starts that were killed while they created a database. */
export async function removeUnfinished(parent: string, prefix: string): Promise<void> {
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
