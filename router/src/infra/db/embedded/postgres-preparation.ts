import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../core/ports/logger.ts';
import { DatabaseError, errorCode, errorMessage } from '../database-errors.ts';
import { makeFolder } from '../files.ts';
import { orFullDisk } from '../upkeep/full-disk.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { chownFolder, removeUnfinished, type ServerFolder, serverFolder } from './postgres-folder.ts';
import { createCluster } from './postgres-server.ts';
import { chooseServerUser, type ServerUser } from './postgres-user.ts';

/** What a start of the embedded server needs. */
export interface PreparedPostgres {
  folder: ServerFolder;
  binaries: PostgresBinaries;
  /** The user that the server runs as, if that is not the user of this process. */
  user: ServerUser | undefined;
  password: string;
}

/** Folders of unfinished first starts are named `postgres.tmp-<process id>-<random>`. */
const UNFINISHED_PREFIX = 'postgres.tmp-';

/**
 * Creates the database in `<dataDir>/postgres` if there is none, and checks that this wa2ai can use it. Leaves no process
 * running. Concurrent calls create one database.
 * @throws {DatabaseError} DATABASE_FOLDER · DATABASE_FULL · DATABASE_VERSION · DATABASE_START · DATABASE_PLATFORM
 */
export async function preparePostgres(dataDir: string, log: Logger): Promise<PreparedPostgres> {
  const folder = serverFolder(join(dataDir, 'postgres'));
  await makeDataDir(dataDir);
  const user = await chooseServerUser(folder.data, dataDir);
  const binaries = await findPostgresBinaries(user, log);
  if (!(await exists(folder.root))) {
    log.info({ folder: folder.root }, 'creating the database');
    await create(dataDir, folder, binaries, user);
  }
  await checkVersion(folder, binaries);
  if (user) await chownData(folder, user);
  return { folder, binaries, user, password: await readPassword(folder) };
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir);
    await removeUnfinished(dataDir, UNFINISHED_PREFIX);
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

/** Created under another name and renamed when it is complete, so that a kill leaves no incomplete database. */
async function create(
  dataDir: string,
  folder: ServerFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
): Promise<void> {
  const name = `${UNFINISHED_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`;
  const draft = serverFolder(join(dataDir, name));
  try {
    await makeDraft(draft);
    await createCluster(draft, binaries, user, randomBytes(24).toString('hex'));
    await rename(draft.root, folder.root).catch(async (error: unknown) => {
      // another start was faster; the instance lock decides which one uses the database
      if (!(await exists(folder.root))) throw error;
    });
  } catch (error) {
    throw await orFullDisk(error, dataDir);
  } finally {
    await rm(draft.root, { recursive: true, force: true });
  }
}

async function makeDraft(draft: ServerFolder): Promise<void> {
  try {
    await mkdir(draft.root, { mode: 0o755 });
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The database cannot be created in the data folder: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write.`,
      { cause: error },
    );
  }
}

async function checkVersion(folder: ServerFolder, binaries: PostgresBinaries): Promise<void> {
  const text = await readFile(join(folder.data, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      errorCode(error) === 'EACCES'
        ? `The database in ${folder.root} belongs to another user. Start wa2ai as that user, or change the owner of the folder.`
        : `${folder.root} contains no database (${errorCode(error) ?? 'unreadable'} on data/PG_VERSION). Restore it from a backup, or move it away to start with an empty one.`,
      { cause: error },
    );
  });
  if (Number.parseInt(text, 10) === binaries.major) return;
  throw new DatabaseError(
    'DATABASE_VERSION',
    `The database in ${folder.root} is of PostgreSQL ${text.trim()}, and this wa2ai has PostgreSQL ${binaries.major}, which cannot read it. Start the wa2ai version that created it, or set WA2AI_DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL server.`,
  );
}

/** A backup restored by root belongs to root, and PostgreSQL opens only files that its user owns. */
async function chownData(folder: ServerFolder, user: ServerUser): Promise<void> {
  const { uid } = await stat(folder.data);
  if (uid !== user.uid) await chownFolder(user, folder.data);
}

async function readPassword(folder: ServerFolder): Promise<string> {
  try {
    return (await readFile(folder.password, 'utf8')).trim();
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The password of the database cannot be read from ${folder.password} (${errorCode(error)}). Start wa2ai as the user who owns the data folder, or restore the file from a backup.`,
      { cause: error },
    );
  }
}
