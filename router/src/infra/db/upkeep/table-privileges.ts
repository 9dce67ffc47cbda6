import sql, { type Sql } from 'sql-template-tag';

/** A missing privilege on a table or sequence; `right` is null if the table itself is missing. */
export interface MissingRight {
  name: string;
  right: string | null;
}

/**
 * The privileges that the current user lacks, of SELECT, INSERT, UPDATE and DELETE on each table, as one statement that reads catalogs only. Includes the tables of DBOS that
 * exist, and the sequences of both.
 * @param tables names of wa2ai's own tables
 */
export function missingRightsSql(tables: readonly string[]): Sql {
  const names = [...tables];
  return sql`
  WITH named AS (
    SELECT t.name, to_regclass(quote_ident(t.name)) AS oid, 'r' AS kind FROM unnest(${names}::text[]) AS t (name)
    UNION ALL
    SELECT format('%I.%I', n.nspname, c.relname), c.oid, c.relkind::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE (n.nspname = 'dbos' AND c.relkind IN ('r', 'S'))
      OR (c.relkind = 'S' AND c.oid IN (
        SELECT d.objid FROM pg_depend d
        WHERE d.refobjid IN (SELECT to_regclass(quote_ident(t.name)) FROM unnest(${names}::text[]) AS t (name))))
  )
  SELECT name, NULL AS "right" FROM named WHERE oid IS NULL
  UNION ALL
  SELECT name, wanted FROM named, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted
    WHERE CASE WHEN kind = 'r' AND oid IS NOT NULL THEN NOT has_table_privilege(oid, wanted) ELSE false END
  UNION ALL
  SELECT name, 'USAGE' FROM named
    WHERE CASE WHEN kind = 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') ELSE false END
  ORDER BY 1, 2`;
}

/** One sentence about the first missing privilege, with what to do. */
export function missingRightSentence(missing: readonly MissingRight[]): string | undefined {
  const [first] = missing;
  if (!first) return undefined;
  const { name, right } = first;
  const more = missing.length > 1 ? ` (${missing.length - 1} more are missing)` : '';
  if (right === null) {
    return `The table "${name}" is not in the database although its migration is${more}: restore the database from a backup.`;
  }
  const kind = right === 'USAGE' ? 'SEQUENCE ' : '';
  return `The database user lacks the privilege ${right} on "${name}"${more}. GRANT ${right} ON ${kind}${name} TO that user.`;
}
