import { statfs } from 'node:fs/promises';
import { StorageTroubleError } from '../../../core/errors.ts';
import { DatabaseError, errorCode, errorMessage } from '../database-errors.ts';

/** What PostgreSQL and its tools say of it; wa2ai starts them in English. */
const NO_SPACE = /No space left on device|Disk quota exceeded|Check free disk space/i;
/** Node's words for it, and PostgreSQL's `disk_full`. */
const NO_SPACE_CODES: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/** With less room than one of its WAL files takes PostgreSQL does not start. */
const LEAST_BYTES = 16 * 1024 * 1024;

const SENTENCE = 'The disk of the built-in database, the one of WA2AI_DATA_DIR, is full: free space on it.';

/** A start's failure in words for the operator when a full disk is behind it; any other one as it is. */
export async function orFullDisk(error: unknown, dataDir: string): Promise<unknown> {
  if (!(await isDiskFull(error, dataDir))) return error;
  return new DatabaseError('DATABASE_FULL', `${SENTENCE} Then start wa2ai again.`, { cause: error });
}

/** The same for a server that ended while wa2ai runs; undefined when something else is behind it. */
export async function fullDiskTrouble(
  error: unknown,
  dataDir: string,
): Promise<StorageTroubleError | undefined> {
  if (!(await isDiskFull(error, dataDir))) return undefined;
  return new StorageTroubleError('full', SENTENCE, { cause: error });
}

async function isDiskFull(error: unknown, dataDir: string): Promise<boolean> {
  // a server's last words are lost too when nothing at all is left
  const isWordless = error instanceof DatabaseError && error.code === 'DATABASE_START';
  return tellsOfFullDisk(error) || (isWordless && (await hasNoRoom(dataDir)));
}

/** Whether an error, or one behind it, says so itself, in the words of Node, PostgreSQL, or who quotes them. */
export function tellsOfFullDisk(error: unknown): boolean {
  if (NO_SPACE_CODES.has(errorCode(error)) || NO_SPACE.test(errorMessage(error))) return true;
  return error instanceof Error && error.cause !== undefined && tellsOfFullDisk(error.cause);
}

async function hasNoRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize < LEAST_BYTES;
  } catch {
    return false; // a folder that is not there is another failure
  }
}
