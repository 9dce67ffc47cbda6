import type pg from 'pg';
import { packageVersion } from '../../config/package-version.ts';
import { errorCode } from '../../infra/db/database-errors.ts';
import { migrationSums, presentMigrations } from '../../infra/db/upkeep/migrations.ts';
import { TABLES } from '../../infra/db/upkeep/table-privileges.ts';
import { BackupError } from './backup-errors.ts';
import type { Manifest } from './records.ts';

/** How long other programs may keep a table that is replaced. */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout TO '15s'";

/**
 * Refuses a database that a node uses.
 * @throws {BackupError} BACKUP_TARGET
 */
export async function refuseNodes(client: pg.ClientBase): Promise<void> {
  // The advisory lock of each running node (connections/node-connection.ts); it ends with the process.
  const { rows } = await client.query<{ name: string | null }>(
    `SELECT a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
     WHERE coalesce(has_table_privilege(a.usesysid, to_regclass('node'), 'UPDATE'), a.usename = session_user)
       AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = 2002858606::oid
       AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())`,
  );
  if (rows.length === 0) return;
  const pid = /\d+/.exec(rows[0]?.name ?? '')?.[0];
  throw new BackupError(
    'BACKUP_TARGET',
    `wa2ai runs on this database (${rows.length} ${rows.length === 1 ? 'node' : 'nodes'}${pid ? `, process ${pid}` : ''}). Stop all its nodes first.`,
  );
}

/**
 * Makes the database ready for the tables of a backup, in the caller's transaction.
 * @param mayReplace whether wa2ai's own tables may be removed with their rows
 * @throws {BackupError} BACKUP_TARGET: there are tables, of wa2ai and not to be replaced, or of another program
 */
export async function clearTarget(client: pg.ClientBase, mayReplace: boolean): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()`,
  );
  const ours = new Set<string>([...TABLES, '_prisma_migrations']);
  const foreign = rows.find(({ name }) => !ours.has(name));
  if (foreign) {
    throw new BackupError(
      'BACKUP_TARGET',
      `The database contains tables that wa2ai does not know ("${foreign.name}"). Create a database for wa2ai alone, and name it in DATABASE_URL. Nothing was changed.`,
    );
  }
  if (rows.length > 0 && !mayReplace) {
    throw new BackupError(
      'BACKUP_TARGET',
      'The database already contains tables of wa2ai. Restore into an empty one, or replace everything in it with --replace. Nothing was changed.',
    );
  }
  await client.query(LOCK_TIMEOUT);
  try {
    const names = rows.map(({ name }) => `"${name}"`);
    if (names.length > 0) await client.query(`DROP TABLE ${names.join(', ')} CASCADE`);
    await dropFunctions(client);
  } catch (error) {
    if (errorCode(error) !== '55P03') throw error;
    throw new BackupError(
      'BACKUP_TARGET',
      'Another program uses the tables of this database. Close its connections, then restore again. Nothing was changed.',
      { cause: error },
    );
  }
}

/** The functions of the former version; those of extensions stay. The migrations create theirs again. */
async function dropFunctions(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ signature: string; kind: string }>(
    `SELECT p.oid::regprocedure::text AS signature,
       CASE p.prokind WHEN 'p' THEN 'PROCEDURE' WHEN 'a' THEN 'AGGREGATE' ELSE 'FUNCTION' END AS kind
     FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`,
  );
  const { rows: views } = await client.query<{ name: string }>(
    `SELECT c.relname::text AS name FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = current_schema()::regnamespace
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`,
  );
  for (const { name } of views) await client.query(`DROP VIEW IF EXISTS "${name}" CASCADE`);
  for (const { signature, kind } of rows) await client.query(`DROP ${kind} IF EXISTS ${signature} CASCADE`);
}

/**
 * Refuses a backup of a newer wa2ai, and of one whose migrations are not those of this version.
 * @throws {BackupError} BACKUP_NEWER
 * @throws {DatabaseError} DATABASE_MIGRATION: it is older than the migrations of this version
 */
export async function refuseUnknown(prismaFolder: string, { wa2ai, migrations }: Manifest): Promise<void> {
  const known = await migrationSums(prismaFolder);
  const present = await presentMigrations(migrations, prismaFolder);
  const other = present.find(({ name, sha256 }) => !known.get(name)?.includes(sha256));
  if (!other) return;
  throw new BackupError(
    'BACKUP_NEWER',
    `The backup was made by wa2ai ${wa2ai}, whose migration "${other.name}" this version (${packageVersion()}) does not have. Restore it with that version or a newer one. Nothing was changed.`,
  );
}
