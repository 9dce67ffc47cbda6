import type { StorageTrouble } from '../../../core/errors.ts';

/** Sentences for operators about what keeps a database from working. */
export const TROUBLE_SENTENCES: Record<Exclude<StorageTrouble, 'key' | 'newer'>, string> = {
  full: 'The disk of the database is full. Free space on it.',
  'read-only': 'The database is read-only. Make it writable, or name the primary server in DATABASE_URL.',
  rights:
    'The database user lacks a privilege. Grant it SELECT, INSERT, UPDATE and DELETE on all tables of wa2ai.',
  schema:
    'The tables in the database are not those of this version of wa2ai. Restore them, or start the version that created them.',
};

/** SQLSTATE, https://www.postgresql.org/docs/18/errcodes-appendix.html */
const KINDS: Record<string, keyof typeof TROUBLE_SENTENCES> = {
  '53100': 'full',
  '25006': 'read-only',
  '42501': 'rights',
  '3F000': 'schema',
  '42P01': 'schema',
  '42703': 'schema',
  '42883': 'schema',
};

/** Kinds whose error names a table and contains no message text: "permission denied for table message". */
const QUOTED = new Set<StorageTrouble>(['rights', 'schema']);

/** The trouble that an error of the server means, with the operator's sentence; undefined if a retry may succeed. */
export function troubleOf(
  sqlState: string | undefined,
  error: unknown,
): { kind: StorageTrouble; sentence: string } | undefined {
  const kind = sqlState === undefined ? undefined : KINDS[sqlState];
  if (kind === undefined) return undefined;
  const quoted = QUOTED.has(kind) && isOfServer(error) ? `: ${error.message}` : '';
  return { kind, sentence: `${TROUBLE_SENTENCES[kind]} PostgreSQL said ${sqlState}${quoted}.` };
}

/** An error that the server reported; others may quote values. */
function isOfServer(error: unknown): error is Error {
  return error instanceof Error && 'severity' in error;
}
