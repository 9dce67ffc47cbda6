import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseError, errorCode } from '../database-errors.ts';

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
