import { errorOf, StorageTroubleError, StorageUnavailableError, Wa2aiError } from '../../../core/errors.ts';
import { troubleOf } from '../upkeep/storage-faults.ts';

/**
 * The database rejects a value: the same call always fails. Nothing was stored. Happens only for values that the edges of
 * the service should have rejected or shortened.
 */
export class StorageRejectedError extends errorOf('STORAGE_REJECTED', 'dead') {}

/** A stored value cannot be read: the row is damaged, or contains what this version does not write. */
export class StorageDamagedError extends errorOf('STORAGE_DAMAGED', 'dead') {}

/**
 * SQLSTATE classes that a retry cannot resolve: 22 data, 23 constraint, 54 program limit.
 * https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
const REJECTING_CLASSES = new Set(['22', '23', '54']);

/**
 * Prisma's codes for the same: too long, unique, foreign key, constraint, wrong value, null, out of range.
 * https://www.prisma.io/docs/orm/reference/error-reference
 */
const REJECTING_CODES = new Set(['P2000', 'P2002', 'P2003', 'P2004', 'P2005', 'P2006', 'P2011', 'P2020']);

/**
 * Damaged data or index (class XX), a value that its type allows and the statement does not (0A000, an infinite time), and
 * Prisma's code for a value that is not of its column's type.
 */
const DAMAGE = new Set(['XX000', 'XX001', 'XX002', '0A000', 'P2023', 'P2032']);

/**
 * Runs one piece of database work and translates its errors, so that core never sees an error of Prisma or pg.
 * @param what names the work for the operator, as in "while storing a message"
 * @throws {StorageTroubleError} the database cannot be used until an operator acts, as the message says
 * @throws {StorageUnavailableError} connection lost, timeout, deadlock, pool exhausted (P2028), and unknown errors
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
  if (isRejecting(error, code)) {
    return new StorageRejectedError(
      `The database rejected a value while ${what} (${code ?? 'no code'}).`,
      cause,
    );
  }
  if (code !== undefined && DAMAGE.has(code)) {
    return new StorageDamagedError(`The database cannot read a stored value while ${what} (${code}).`, cause);
  }
  const trouble = troubleOf(code, error);
  if (trouble) return new StorageTroubleError(trouble.kind, trouble.sentence, cause);
  return new StorageUnavailableError(
    `The database did not respond while ${what}${code ? ` (${code})` : ''}.`,
    cause,
  );
}

function isRejecting(error: unknown, code: string | undefined): boolean {
  if (error instanceof Error && error.name === 'PrismaClientValidationError') return true;
  if (code === undefined) return false;
  return REJECTING_CODES.has(code) || (code.length === 5 && REJECTING_CLASSES.has(code.slice(0, 2)));
}

/** The SQLSTATE if there is one (Prisma hides it in `meta`), else Prisma's or Node's code. */
export function codeOf(error: unknown): string | undefined {
  const adapterCause =
    field(field(field(error, 'meta'), 'driverAdapterError'), 'cause') ?? field(error, 'cause');
  return (
    text(field(adapterCause, 'originalCode')) ??
    text(field(adapterCause, 'code')) ??
    text(field(field(error, 'meta'), 'code')) ??
    text(field(error, 'code'))
  );
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
