import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, errorCode, errorMessage } from '../database-errors.ts';
import { orFullDisk } from '../upkeep/full-disk.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { giveTo, removeHalfMade, type ServerFolder, serverFolder } from './postgres-folder.ts';
import { createCluster } from './postgres-server.ts';
import { chooseServerUser, type ServerUser } from './postgres-user.ts';

/** All that a start of the built-in server needs. */
export interface PreparedPostgres {
  folder: ServerFolder;
  binaries: PostgresBinaries;
  /** Whom the server runs as, when that is not the user of this process. */
  user: ServerUser | undefined;
  password: string;
}

/** Folders of first starts under way are named `postgres.tmp-<process id>-<random>`. */
const HALF_MADE_PREFIX = 'postgres.tmp-';

/**
 * Makes the database in `<dataDir>/postgres` when there is none, and checks that this wa2ai can use the one there is.
 * Starts nothing that is left running. Two calls at once end with one database.
 * @throws {DatabaseError} DATABASE_FOLDER · DATABASE_FULL · DATABASE_VERSION · DATABASE_START · DATABASE_PLATFORM
 */
export async function preparePostgres(
  dataDir: string,
  onProgress: (sentence: string) => void,
): Promise<PreparedPostgres> {
  const folder = serverFolder(join(dataDir, 'postgres'));
  await makeDataDir(dataDir);
  const user = await chooseServerUser(folder.data, dataDir);
  const binaries = await findPostgresBinaries(user, onProgress);
  if (!(await exists(folder.root))) {
    onProgress('Creating the database (first start)');
    await create(dataDir, folder, binaries, user);
  }
  await checkVersion(folder, binaries);
  if (user) await takePossession(folder, user);
  return { folder, binaries, user, password: await readPassword(folder) };
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true });
    await removeHalfMade(dataDir, HALF_MADE_PREFIX);
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The data folder ${dataDir} cannot be used: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write.`,
      { cause: error },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Made under another name and renamed when it is complete, so that a kill leaves no half database behind. */
async function create(
  dataDir: string,
  folder: ServerFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
): Promise<void> {
  const name = `${HALF_MADE_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`;
  const half = serverFolder(join(dataDir, name));
  try {
    await makeHalf(half);
    await createCluster(half, binaries, user, randomBytes(24).toString('hex'));
    await rename(half.root, folder.root).catch(async (error: unknown) => {
      // another start was faster: its database is as good, and whose it is shows at the lock
      if (!(await exists(folder.root))) throw error;
    });
  } catch (error) {
    throw await orFullDisk(error, dataDir);
  } finally {
    await rm(half.root, { recursive: true, force: true });
  }
}

async function makeHalf(half: ServerFolder): Promise<void> {
  try {
    await mkdir(half.root, { mode: 0o755 });
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The database cannot be made in the data folder: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write.`,
      { cause: error },
    );
  }
}

async function checkVersion(folder: ServerFolder, binaries: PostgresBinaries): Promise<void> {
  const text = await readFile(join(folder.data, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      errorCode(error) === 'EACCES'
        ? `The database in ${folder.root} belongs to another user. Start wa2ai as the user who made it, or give the folder to this one.`
        : `${folder.root} holds no database (${errorCode(error) ?? 'unreadable'} on data/PG_VERSION). Move it away to start empty, or restore it from a backup.`,
      { cause: error },
    );
  });
  if (Number.parseInt(text, 10) === binaries.major) return;
  throw new DatabaseError(
    'DATABASE_VERSION',
    `The database in ${folder.root} was made by PostgreSQL ${text.trim()}, and this wa2ai brings PostgreSQL ${binaries.major}, which cannot read it. Start the wa2ai version that made it, or set WA2AI_DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL server.`,
  );
}

/** A backup that root copied back belongs to root, and PostgreSQL opens only what belongs to its own user. */
async function takePossession(folder: ServerFolder, user: ServerUser): Promise<void> {
  const { uid } = await stat(folder.data);
  if (uid !== user.uid) await giveTo(user, folder.data);
}

async function readPassword(folder: ServerFolder): Promise<string> {
  try {
    return (await readFile(folder.password, 'utf8')).trim();
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The password of the database cannot be read from ${folder.password} (${errorCode(error)}). Start wa2ai as the user who made the data folder, or restore the file from a backup.`,
      { cause: error },
    );
  }
}
