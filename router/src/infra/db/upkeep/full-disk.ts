import { statfs } from 'node:fs/promises';
import { StorageTroubleError } from '../../../core/errors.ts';
import { DatabaseError, errorCode, errorMessage } from '../database-errors.ts';

/** Messages of PostgreSQL and its tools about a full disk; wa2ai starts them in English. */
const NO_SPACE = /No space left on device|Disk quota exceeded|Check free disk space/i;
/** Node's codes, and PostgreSQL's `disk_full`. */
const NO_SPACE_CODES: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/** PostgreSQL does not start with less space than one WAL file takes. */
const LEAST_BYTES = 16 * 1024 * 1024;

const SENTENCE = 'The disk of the embedded database (WA2AI_DATA_DIR) is full. Free space on it.';

/** Replaces the error of a start if a full disk caused it; returns any other one unchanged. */
export async function orFullDisk(error: unknown, dataDir: string): Promise<unknown> {
  if (!(await isDiskFull(error, dataDir))) return error;
  return new DatabaseError('DATABASE_FULL', `${SENTENCE} Then start wa2ai again.`, { cause: error });
}

/** The same for a server that ended while wa2ai runs; undefined if the disk is not full. */
export async function fullDiskTrouble(
  error: unknown,
  dataDir: string,
): Promise<StorageTroubleError | undefined> {
  if (!(await isDiskFull(error, dataDir))) return undefined;
  return new StorageTroubleError('full', SENTENCE, { cause: error });
}

async function isDiskFull(error: unknown, dataDir: string): Promise<boolean> {
  // with no space at all, the server's messages are lost too
  const isSilent = error instanceof DatabaseError && error.code === 'DATABASE_START';
  return isFullDiskError(error) || (isSilent && (await hasNoRoom(dataDir)));
}

/** Whether an error or one of its causes says that a disk is full. */
export function isFullDiskError(error: unknown): boolean {
  if (NO_SPACE_CODES.has(errorCode(error)) || NO_SPACE.test(errorMessage(error))) return true;
  return error instanceof Error && error.cause !== undefined && isFullDiskError(error.cause);
}

async function hasNoRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize < LEAST_BYTES;
  } catch {
    return false; // a missing folder is another failure
  }
}
