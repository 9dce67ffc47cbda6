import { readFile } from 'node:fs/promises';
import { errorCode } from '../../infra/db/database-errors.ts';
import { BackupError } from './backup-errors.ts';

const MIN_CHARS = 12;

/**
 * The passphrase of a backup: from a file, whose last line end does not count, or from WA2AI_BACKUP_PASSPHRASE. Never from an
 * argument, which every user of the machine can see.
 * @param isNew a new backup must have a passphrase of at least 12 characters
 * @throws {BackupError} BACKUP_PASSPHRASE: there is none, or it is too short
 */
export async function passphraseOf(options: {
  file: string | undefined;
  env: Record<string, string | undefined>;
  isNew: boolean;
}): Promise<string> {
  const { file, env, isNew } = options;
  const passphrase = file === undefined ? env.WA2AI_BACKUP_PASSPHRASE : await readPassphrase(file);
  if (passphrase === undefined || passphrase === '') {
    throw new BackupError(
      'BACKUP_PASSPHRASE',
      'The passphrase is missing. Name a file that contains it with --passphrase-file, or set WA2AI_BACKUP_PASSPHRASE.',
    );
  }
  if (isNew && passphrase.length < MIN_CHARS) {
    throw new BackupError(
      'BACKUP_PASSPHRASE',
      `The passphrase has fewer than ${MIN_CHARS} characters. Create one: openssl rand -base64 24.`,
    );
  }
  return passphrase;
}

async function readPassphrase(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new BackupError(
      'BACKUP_PASSPHRASE',
      `The passphrase file ${file} cannot be read (${errorCode(error) ?? 'unknown error'}). Check the path and the rights of the file.`,
      { cause: error },
    );
  }
}
