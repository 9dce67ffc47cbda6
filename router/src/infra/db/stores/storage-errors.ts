import {
  errorOf,
  StorageRejectedError,
  StorageTroubleError,
  StorageUnavailableError,
  Wa2aiError,
} from '../../../core/errors.ts';
import { say } from '../../../core/phrases.ts';
import { troubleOf } from '../upkeep/storage-faults.ts';

/** A stored value cannot be read: the row is damaged, or contains what this version does not write. */
export class StorageDamagedError extends errorOf('STORAGE_DAMAGED', 'dead') {}

/**
 * SQLSTATE classes that a retry cannot resolve: 22 data, 23 constraint, 54 program limit.
 * https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
const REJECTING_CLASSES = new Set(['22', '23', '54']);

/** Damaged data or index (class XX), and a value that its type allows and the statement does not, as an infinite time. */
const DAMAGE = new Set(['XX000', 'XX001', 'XX002', '0A000']);

/**
 * Runs one piece of database work and translates its errors, so that core never sees an error of `pg`.
 * @param what names the work for the operator, as in "while storing a message"
 * @throws {StorageTroubleError} the database cannot be used until an operator acts, as the message says
 * @throws {StorageUnavailableError} connection lost, timeout, deadlock, pool exhausted, and unknown errors
 * @throws {StorageRejectedError} the database rejects this value
 * @throws {StorageDamagedError} a stored value cannot be read
 */
export async function withStorage<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translate(what, error);
  }
}

function translate(what: string, error: unknown): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  const code = codeOf(error);
  const cause = { cause: error };
  if (code?.length === 5 && REJECTING_CLASSES.has(code.slice(0, 2))) {
    return new StorageRejectedError(
      { ...say('storage.rejected'), sentence: `The database rejected a value while ${what} (${code}).` },
      cause,
    );
  }
  if (code !== undefined && DAMAGE.has(code)) {
    return new StorageDamagedError(
      {
        ...say('storage.damaged'),
        sentence: `The database cannot read a stored value while ${what} (${code}).`,
      },
      cause,
    );
  }
  const trouble = troubleOf(code, error);
  if (trouble) return new StorageTroubleError(trouble.kind, trouble.said, cause);
  return new StorageUnavailableError(
    {
      ...say('storage.unavailable'),
      sentence: `The database did not respond while ${what}${code ? ` (${code})` : ''}.`,
    },
    { ...cause, isAnswer: isAnswer(code) },
  );
}

/**
 * Whether it is a SQLSTATE that a working server returns for a statement: not of a connection that failed (08), resources
 * (53), a server that starts or stops (57P), its machine (58), or conflicts of transactions (40, 55).
 */
function isAnswer(code: string | undefined): boolean {
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|40|53|55|57P|58)/.test(code);
}

/** The SQLSTATE or Node's code of an error, or of its cause. */
export function codeOf(error: unknown): string | undefined {
  return text(field(field(error, 'cause'), 'code')) ?? text(field(error, 'code'));
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

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
    super(code, 'dead', { sentence: message }, options);
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
