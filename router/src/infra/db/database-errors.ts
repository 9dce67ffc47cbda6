import { Wa2aiError } from '../../core/errors.ts';

/** Why the database cannot be used; stable. */
export type DatabaseErrorCode =
  | 'DATABASE_ALREADY_RUNNING'
  | 'DATABASE_FOLDER'
  | 'DATABASE_FULL'
  | 'DATABASE_KEY'
  | 'DATABASE_MIGRATION'
  | 'DATABASE_PLATFORM'
  | 'DATABASE_POOLER'
  | 'DATABASE_RIGHTS'
  | 'DATABASE_START'
  | 'DATABASE_UNREACHABLE'
  | 'DATABASE_VERSION';

/**
 * The database cannot be started, connected to or migrated. The message tells the operator what to do and contains no
 * password.
 */
export class DatabaseError extends Wa2aiError {
  constructor(code: DatabaseErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, 'dead', message, options);
  }
}

/** The `code` of a Node or PostgreSQL error (`ENOENT`, `28P01`), or undefined. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The message of anything thrown. */
export function errorMessage(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(errorMessage).join('; ');
  }
  return error instanceof Error ? error.message : String(error);
}
