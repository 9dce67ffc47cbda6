import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { z } from 'zod';
import { withConnection } from '../connections/external-postgres.ts';
import { lockOwner, tryLock } from '../connections/node-connection.ts';
import { DatabaseError, errorCode, errorMessage } from '../stores/storage-errors.ts';
import { troubleOf } from './storage-faults.ts';
import { type MissingRight, missingRightSentence, missingRightsSql } from './table-privileges.ts';

/** The session advisory lock of `prisma migrate`, so that both never migrate at the same time. */
const MIGRATION_LOCK = 72707369;

/** First half of the key of wa2ai's own lock, "wa2m" as a number. */
const LOCK_CLASS = 0x7761326d;

/** Longest wait for another node that is migrating. */
const LOCK_TIMEOUT_MS = 120_000;
const LOCK_PAUSE_MS = 100;

/** The table of `prisma migrate`, column by column. */
const CREATE_MIGRATIONS_TABLE = `
CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id" VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum" VARCHAR(64) NOT NULL,
    "finished_at" TIMESTAMPTZ,
    "migration_name" VARCHAR(255) NOT NULL,
    "logs" TEXT,
    "rolled_back_at" TIMESTAMPTZ,
    "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

interface Migration {
  name: string;
  sql: string;
  replaces: Replaced;
}

/**
 * `replaces.json` of a migration that stands for several older ones: their names, and the last commit of the repository that
 * has their files.
 */
const replacedSchema = z.object({ lastCommit: z.string(), names: z.array(z.string()) });
type Replaced = z.infer<typeof replacedSchema>;

/** A migration that a database has, or had when its backup was made. */
export interface RecordedMigration {
  name: string;
  sha256: string;
}

interface AppliedMigration {
  migration_name: string;
  checksum: string;
  isFinished: boolean;
}

/**
 * Brings the database at `url` up to date: first the migrations in `migrations/` of the folder
 * (`<time>_<name>/migration.sql`, oldest first), recorded as `prisma migrate` does, then the SQL functions in
 * `functions/`. Safe to call from several nodes concurrently: one works, the others wait. Each migration is one transaction,
 * so a failed one changes nothing.
 * @param url a direct connection; advisory locks do not work through a transaction pooler
 * @param prismaFolder `prisma` of the project
 * @returns the names of the migrations applied now, oldest first; empty if there was nothing to do
 * @throws {DatabaseError} DATABASE_MIGRATION: an applied file was changed, the database is newer than this wa2ai, it
 *   belongs to another program, a table is missing, or a file failed; DATABASE_RIGHTS: a right is missing;
 *   DATABASE_UNREACHABLE: there is no connection
 */
export async function applyMigrations(url: string, prismaFolder: string): Promise<string[]> {
  return withConnection(url, 'migrations', (client) => migrate(client, prismaFolder));
}

/** The same on a connection of withConnection; other nodes wait until it ends. */
export async function migrate(client: pg.Client, prismaFolder: string): Promise<string[]> {
  const migrations = await readMigrations(prismaFolder);
  await lockMigrations(client);
  // Without the privilege to create tables, CREATE TABLE IF NOT EXISTS fails even if the table exists.
  if (!(await isThere(client, '_prisma_migrations'))) await client.query(CREATE_MIGRATIONS_TABLE);
  await recordReplacing(client, migrations);
  const pending = findPending(migrations, await readApplied(client));
  for (const migration of pending) await apply(client, migration);
  await applyFunctions(client, join(prismaFolder, 'functions'));
  await refuseMissingRights(client, tablesOf(migrations));
  return pending.map((migration) => migration.name);
}

/**
 * Creates the tables of the named migrations in an empty schema, as they were when those were the newest, and records them.
 * The SQL functions follow with `applyMigrations`. Runs in the caller's transaction, under `lockMigrations`.
 * @throws {DatabaseError} DATABASE_MIGRATION: a file is missing or failed
 */
export async function createSchema(
  client: pg.Client,
  prismaFolder: string,
  names: readonly string[],
): Promise<void> {
  await client.query('SET client_min_messages = warning');
  await client.query(CREATE_MIGRATIONS_TABLE);
  for (const migration of await readMigrations(prismaFolder)) {
    if (names.includes(migration.name)) await applyAndRecord(client, migration);
  }
}

/**
 * What a database or a backup has, as this version names it: where all migrations that another one replaces are there, that
 * one instead of them.
 * @throws {DatabaseError} DATABASE_MIGRATION: only some of them are there
 */
export async function presentMigrations(
  recorded: readonly RecordedMigration[],
  prismaFolder: string,
): Promise<RecordedMigration[]> {
  let present = [...recorded];
  for (const migration of await readMigrations(prismaFolder)) {
    const { replaces, name, sql } = migration;
    const names = present.map((each) => each.name);
    if (!areReplaced(replaces, names)) continue;
    const rest = present.filter((each) => !replaces.names.includes(each.name));
    present = [{ name, sha256: sha256(sql) }, ...rest];
  }
  return present;
}

/** The checksums of each migration that this version knows, by name; a checkout may change line ends. */
export async function migrationSums(prismaFolder: string): Promise<Map<string, string[]>> {
  return new Map((await readMigrations(prismaFolder)).map(({ name, sql }) => [name, checksums(sql)]));
}

/** Names of the migrations, oldest first. */
export async function migrationNames(prismaFolder: string): Promise<string[]> {
  return (await readMigrations(prismaFolder)).map(({ name }) => name);
}

/** Names of the tables that all migrations together make. */
export async function tableNames(prismaFolder: string): Promise<string[]> {
  return tablesOf(await readMigrations(prismaFolder));
}

function tablesOf(migrations: readonly Migration[]): string[] {
  const tables = new Set<string>();
  for (const { sql } of migrations) {
    for (const [, verb, name = ''] of sql.matchAll(
      /^(CREATE|DROP) TABLE (?:IF (?:NOT )?EXISTS )?"(\w+)"/gm,
    )) {
      if (verb === 'CREATE') tables.add(name);
      else tables.delete(name);
    }
  }
  return [...tables].sort();
}

async function isThere(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ isThere: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS "isThere"',
    [table],
  );
  return rows[0]?.isThere ?? false;
}

/** Finds a missing privilege at the start, not with the first message. */
async function refuseMissingRights(client: pg.Client, tables: readonly string[]): Promise<void> {
  const { rows } = await client.query<MissingRight>(missingRightsSql(tables));
  const sentence = missingRightSentence(rows);
  if (!sentence) return;
  throw new DatabaseError(
    rows[0]?.right === null ? 'DATABASE_MIGRATION' : 'DATABASE_RIGHTS',
    `${sentence} The user is "${client.user}".`,
  );
}

async function readMigrations(prismaFolder: string): Promise<Migration[]> {
  const folder = join(prismaFolder, 'migrations');
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => ({
      name,
      sql: await readFile(join(folder, name, 'migration.sql'), 'utf8'),
      replaces: await readReplaces(join(folder, name, 'replaces.json')),
    })),
  );
}

async function readReplaces(path: string): Promise<Replaced> {
  try {
    return replacedSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { lastCommit: '', names: [] };
    throw error;
  }
}

/**
 * Whether all these migrations are among the names, or none of them.
 * @throws {DatabaseError} DATABASE_MIGRATION: only some are
 */
function areReplaced({ names, lastCommit }: Replaced, applied: readonly string[]): boolean {
  if (!names.some((name) => applied.includes(name))) return false;
  const missing = names.find((name) => !applied.includes(name));
  if (missing === undefined) return true;
  throw new DatabaseError(
    'DATABASE_MIGRATION',
    `The tables are those of an early wa2ai, without the migration "${missing}", which this version no longer has. Start the wa2ai of commit ${lastCommit} on them once, then this version. Nothing was changed.`,
  );
}

/** A database at the schema of the replaced migrations has the migration that replaces them; its tables are the same. */
async function recordReplacing(client: pg.Client, migrations: Migration[]): Promise<void> {
  for (const { name, sql, replaces } of migrations) {
    const finished = (await readApplied(client)).filter(({ isFinished }) => isFinished);
    if (
      !areReplaced(
        replaces,
        finished.map(({ migration_name: applied }) => applied),
      )
    )
      continue;
    await client.query(
      `WITH replaced AS (DELETE FROM "_prisma_migrations" WHERE migration_name = ANY ($1))
       INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($2, $3, $4, now(), now(), 1)`,
      [replaces.names, randomUUID(), sha256(sql), name],
    );
  }
}

/**
 * Keeps other nodes from migrating until the connection ends; a node that starts meanwhile waits.
 * @throws {DatabaseError} DATABASE_MIGRATION: another node has been migrating for two minutes
 */
export async function lockMigrations(client: pg.Client): Promise<void> {
  await client.query('SET client_min_messages = warning');
  const until = performance.now() + LOCK_TIMEOUT_MS;
  const lock = { lockClass: LOCK_CLASS, name: 'migrations' };
  // Polled: a statement that waits for the lock would block a CREATE INDEX CONCURRENTLY of the node that has it.
  while (!('key' in (await tryLock(client, lock, 'the migrations')))) await pauseUntil(until);
  // Older versions, and `prisma migrate`, have this one. Another role that took it migrates nothing.
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>(
      `SELECT pg_try_advisory_lock(${MIGRATION_LOCK}) AS taken`,
    );
    if (rows[0]?.taken) return;
    const owner = await lockOwner(client, 0, MIGRATION_LOCK);
    if (owner?.role !== undefined) return;
    await pauseUntil(until);
  }
}

/** @throws {DatabaseError} DATABASE_MIGRATION: the time is over */
async function pauseUntil(until: number): Promise<void> {
  if (performance.now() > until) {
    throw new DatabaseError(
      'DATABASE_MIGRATION',
      `Another node has been migrating the database for more than ${LOCK_TIMEOUT_MS / 1000} s. Start again when it has finished.`,
    );
  }
  await wait(LOCK_PAUSE_MS);
}

async function readApplied(client: pg.Client): Promise<AppliedMigration[]> {
  const result = await client.query<AppliedMigration>(
    `SELECT migration_name, checksum, finished_at IS NOT NULL AS "isFinished"
       FROM "_prisma_migrations" WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return result.rows;
}

function findPending(migrations: Migration[], applied: AppliedMigration[]): Migration[] {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  const refusal = (sentence: string) => new DatabaseError('DATABASE_MIGRATION', sentence);
  const [first] = applied;
  if (first && !applied.some(({ migration_name: name }) => byName.has(name))) {
    throw refusal(
      `The database belongs to another program: its first migration is "${first.migration_name}". Create a database for wa2ai alone, and name it in DATABASE_URL.`,
    );
  }
  for (const { migration_name: name, checksum, isFinished } of applied) {
    const migration = byName.get(name);
    if (migration === undefined) {
      throw refusal(
        `The database was migrated by a newer wa2ai: it has "${name}", which this version does not know. Start the newer version.`,
      );
    }
    if (!isFinished) {
      throw refusal(
        `The migration "${name}" was started by another tool and did not finish. Repair the database, then mark it with "prisma migrate resolve".`,
      );
    }
    if (!checksums(migration.sql).includes(checksum)) {
      throw refusal(
        `The file of migration "${name}" was changed after it was applied to this database. Restore the file; write a new migration for a change.`,
      );
    }
  }
  const done = new Set(applied.map((migration) => migration.migration_name));
  return migrations.filter((migration) => !done.has(migration.name));
}

async function applyAndRecord(client: pg.Client, { name, sql }: Migration): Promise<void> {
  const id = randomUUID();
  await client.query(
    `INSERT INTO "_prisma_migrations" (id, checksum, migration_name, started_at) VALUES ($1, $2, $3, clock_timestamp())`,
    [id, sha256(sql), name],
  );
  await client.query(sql);
  await client.query(
    `UPDATE "_prisma_migrations" SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1`,
    [id],
  );
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const { name } = migration;
  await client.query('BEGIN');
  try {
    await applyAndRecord(client, migration);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    const code = errorCode(error);
    if (code === '42501' || troubleOf(code, error)?.kind === 'full' || code === '25006') throw error;
    if (code === '42P07') {
      throw new DatabaseError(
        'DATABASE_MIGRATION',
        `The database contains tables that wa2ai did not create (${errorMessage(error)}). Create a database for wa2ai alone, and name it in DATABASE_URL. Nothing was changed.`,
        { cause: error },
      );
    }
    throw new DatabaseError(
      'DATABASE_MIGRATION',
      `The migration "${name}" failed and changed nothing: ${errorMessage(error)}.`,
      { cause: error },
    );
  }
}

/** A checkout may change line ends; as with `prisma migrate`, both are accepted. */
function checksums(sql: string): string[] {
  const unix = sql.replaceAll('\r\n', '\n');
  return [sha256(sql), sha256(unix), sha256(unix.replaceAll('\n', '\r\n'))];
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** `invalid_function_definition`: the result or the parameter names differ, so the function must be dropped first. */
const DEFINITION_DIFFERS = '42P13';
/** `insufficient_privilege`: only the owner of a function may replace it. */
const NOT_OWNER = '42501';

interface FunctionFile {
  name: string;
  sql: string;
  functions: string[];
}

/**
 * Brings the functions of the database to the text of the files in `folder` (`*.sql`, applied in the order of their
 * names), in one transaction. Does nothing if they are the same. Call it under the lock of the migrations.
 * @returns whether anything was applied
 * @throws {DatabaseError} DATABASE_MIGRATION: a file failed; DATABASE_RIGHTS: the user does not own the functions.
 *   Nothing was changed
 */
async function applyFunctions(client: pg.Client, folder: string): Promise<boolean> {
  const files = await readFiles(folder);
  const names = files.flatMap((file) => file.functions);
  const sha256 = hashOf(files);
  const former = await formerState(client);
  if (former?.sha256 === sha256 && (await missingOf(client, names)) === 0) return false;
  await client.query('BEGIN');
  try {
    const ours = [...new Set([...names, ...(former?.names ?? [])])];
    const before = await versionsOf(client, ours);
    for (const file of files) await applyFile(client, file);
    await dropUnchanged(client, ours, before);
    await client.query(
      `INSERT INTO sql_functions (id, sha256, names, applied_at) VALUES (1, $1, $2, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET sha256 = excluded.sha256, names = excluded.names,
         applied_at = excluded.applied_at`,
      [sha256, names],
    );
    await client.query('COMMIT');
    return true;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function readFiles(folder: string): Promise<FunctionFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql'));
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n');
      const functions = [...sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map(
        (match) => match[1] ?? '',
      );
      return { name, sql, functions };
    }),
  );
}

function hashOf(files: FunctionFile[]): string {
  return createHash('sha256')
    .update(JSON.stringify(files.map(({ name, sql }) => [name, sql])))
    .digest('hex');
}

async function formerState(client: pg.Client): Promise<{ sha256: string; names: string[] } | undefined> {
  const { rows } = await client.query<{ sha256: string; names: string[] }>(
    'SELECT sha256, names FROM sql_functions WHERE id = 1',
  );
  return rows[0];
}

async function missingOf(client: pg.Client, names: string[]): Promise<number> {
  const { rows } = await client.query<{ missing: number }>(
    `SELECT count(*)::integer AS missing FROM unnest($1::text[]) AS wanted (name) WHERE NOT EXISTS (
       SELECT 1 FROM pg_proc p
       WHERE p.proname = wanted.name AND p.pronamespace = current_schema()::regnamespace)`,
    [names],
  );
  return rows[0]?.missing ?? 0;
}

/** Each function of these names with the version of its catalog row, which every replacement changes. */
async function versionsOf(client: pg.Client, names: string[]): Promise<Map<string, string>> {
  const { rows } = await client.query<{ signature: string; version: string }>(
    `SELECT p.oid::regprocedure::text AS signature, p.oid || ':' || p.xmin::text || ':' || p.ctid::text AS version
     FROM pg_proc p WHERE p.proname = ANY($1) AND p.pronamespace = current_schema()::regnamespace`,
    [names],
  );
  return new Map(rows.map((row) => [row.signature, row.version]));
}

async function applyFile(client: pg.Client, file: FunctionFile): Promise<void> {
  await client.query('SAVEPOINT file');
  try {
    await client.query(file.sql).catch(async (error: unknown) => {
      if (errorCode(error) !== DEFINITION_DIFFERS) throw error;
      await client.query('ROLLBACK TO SAVEPOINT file');
      await drop(client, [...(await versionsOf(client, file.functions)).keys()]);
      await client.query(file.sql);
    });
  } catch (error) {
    const reason = errorMessage(error);
    if (errorCode(error) === NOT_OWNER) {
      throw new DatabaseError(
        'DATABASE_RIGHTS',
        `The database user may not replace wa2ai's SQL functions: ${reason}. Start this version once with the user that owns them, or make this user their owner.`,
        { cause: error },
      );
    }
    throw new DatabaseError(
      'DATABASE_MIGRATION',
      `The SQL functions of "${file.name}" could not be applied and nothing was changed: ${reason}.`,
      { cause: error },
    );
  }
  await client.query('RELEASE SAVEPOINT file');
}

/** A function that was not replaced is defined by no file, or is an overload with former parameters. */
async function dropUnchanged(
  client: pg.Client,
  names: string[],
  before: ReadonlyMap<string, string>,
): Promise<void> {
  const now = await versionsOf(client, names);
  await drop(
    client,
    [...now]
      .filter(([signature, version]) => before.get(signature) === version)
      .map(([signature]) => signature),
  );
}

async function drop(client: pg.Client, signatures: string[]): Promise<void> {
  if (signatures.length > 0) await client.query(`DROP FUNCTION ${signatures.join(', ')}`);
}
