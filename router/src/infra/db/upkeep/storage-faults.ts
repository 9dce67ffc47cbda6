import type { StorageTrouble } from '../../../core/errors.ts';
import { type Said, say } from '../../../core/phrases.ts';

/** Troubles that an error of the server shows. */
type ShownTrouble = Exclude<StorageTrouble, 'key' | 'newer'>;

/** SQLSTATE, https://www.postgresql.org/docs/18/errcodes-appendix.html */
const KINDS: Record<string, ShownTrouble> = {
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
): { kind: StorageTrouble; said: Said } | undefined {
  const kind = sqlState === undefined ? undefined : KINDS[sqlState];
  if (kind === undefined) return undefined;
  const quoted = QUOTED.has(kind) && isOfServer(error) ? `: ${error.message}` : '';
  const details = `${sqlState}${quoted}`;
  return { kind, said: say('storage.postgres-said', { error: say(`storage.${kind}`), details }) };
}

/** An error that the server reported; others may quote values. */
function isOfServer(error: unknown): error is Error {
  return error instanceof Error && 'severity' in error;
}
