import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { errorCode, errorMessage } from '../../infra/db/database-errors.ts';
import { parseDataKeys } from '../../infra/db/encryption/data-keys.ts';
import { makeFolder, readIfThere } from '../../infra/db/files.ts';
import { BackupError } from './backup-errors.ts';

/** What a restore does with the data keys of a backup. */
export interface DataKeyPlan {
  /** The key file that the service will read; undefined: the backup has no keys. */
  path: string | undefined;
  /** Writes the keys, readable for the owner only. Does nothing if the file has them. Idempotent. */
  write(): Promise<void>;
}

/**
 * Finds where the keys of a backup must be, and refuses before anything is changed. Keys that are there already stay as
 * further lines, because other values may need them.
 * @param backupText the key file of the backup
 * @throws {BackupError} BACKUP_TARGET: WA2AI_DATA_KEY_FILE is not set with DATABASE_URL
 */
export async function planDataKeys(
  config: DatabaseConfig,
  backupText: string | undefined,
): Promise<DataKeyPlan> {
  if (backupText === undefined) return { path: undefined, write: async () => undefined };
  const path =
    config.dataKeyFile ?? (config.databaseUrl === undefined ? join(config.dataDir, 'data-key') : undefined);
  if (path === undefined) {
    throw new BackupError(
      'BACKUP_TARGET',
      'The backup contains a data key, and there is no place for it. Set WA2AI_DATA_KEY_FILE to a file that does not exist yet; the restore creates it. Nothing was changed.',
    );
  }
  const existing = await readIfThere(path).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
  const wanted = parseDataKeys(backupText, 'the key file of the backup').map(({ id }) => id);
  const there = existing === undefined ? [] : parseDataKeys(existing, path).map(({ id }) => id);
  if (wanted.every((id) => there.includes(id))) return { path, write: async () => undefined };
  const text = existing === undefined ? backupText : `${backupText.trimEnd()}\n${existing}`;
  return { path, write: () => writeKeys(path, text) };
}

async function writeKeys(path: string, text: string): Promise<void> {
  const draft = `${path}.restore`;
  try {
    await makeFolder(dirname(path));
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await chmod(draft, 0o600);
    await rename(draft, path);
    await readFile(path);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

function cannotWrite(path: string, error: unknown): BackupError {
  return new BackupError(
    'BACKUP_TARGET',
    `The data key of the backup cannot be stored in ${path} (${errorCode(error) ?? errorMessage(error)}). Nothing was restored. Write it to a file with --data-key-to, make that the key file of the service, and restore again.`,
    { cause: error },
  );
}
