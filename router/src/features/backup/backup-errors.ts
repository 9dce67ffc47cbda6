import { Wa2aiError } from '../../core/errors.ts';

/** Why a backup cannot be made or restored; stable. */
export type BackupErrorCode =
  | 'BACKUP_DAMAGED'
  | 'BACKUP_FILE'
  | 'BACKUP_NEWER'
  | 'BACKUP_PASSPHRASE'
  | 'BACKUP_SOURCE'
  | 'BACKUP_TARGET';

/** A backup cannot be made or restored. The message tells the operator what to do and contains no secret. */
export class BackupError extends Wa2aiError {
  constructor(code: BackupErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, 'dead', message, options);
  }
}
