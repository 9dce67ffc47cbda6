import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { packageVersion } from '../../config/package-version.ts';
import type { Logger } from '../../core/logger.ts';
import { connectExternalPostgres, withConnection } from '../../infra/db/connections/external-postgres.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { type RunningPostgres, startEmbeddedPostgres } from '../../infra/db/embedded/embedded-postgres.ts';
import { parseDataKeys } from '../../infra/db/encryption/secret-cipher.ts';
import { makeFolder, readIfThere } from '../../infra/db/files.ts';
import { errorCode, errorMessage } from '../../infra/db/stores/storage-errors.ts';
import {
  applyMigrations,
  createSchema,
  lockMigrations,
  migrationSums,
  presentMigrations,
  tableNames,
} from '../../infra/db/upkeep/migrations.ts';
import { AGENT_FOLDERS, AgentDataWriter } from './agent-data.ts';
import { summarize } from './create-backup.ts';
import { checkBackup, RecordReader, readBackup } from './read-backup.ts';
import {
  backupTables,
  copyIn,
  type Manifest,
  quotedTable,
  type Sequences,
  type TableEnd,
  type TableHead,
  TEXT_SETTINGS,
} from './records.ts';
import { BackupError } from './sealed-file.ts';

interface RestoreOptions {
  config: DatabaseConfig;
  /** `prisma` of the project. */
  prismaFolder: string;
  path: string;
  passphrase: string;
  /** Whether wa2ai's tables and the files of hosted agents that are there may be replaced. */
  mayReplace: boolean;
  /** Creates the tables of durable tasks; called when the backup contains some. */
  createTaskTables(databaseUrl: string): Promise<void>;
  log: Logger;
}

export interface RestoreReport {
  createdAt: string;
  wa2ai: string;
  tables: number;
  rows: number;
  files: number;
  /** Migrations that this version added to those of the backup. */
  migrated: string[];
  /** The file that now contains the data keys; undefined: the backup has none. */
  dataKeyFile: string | undefined;
  /** Settings of the backup, which this machine may need. */
  settings: Record<string, string>;
}

/**
 * Restores a backup into the database of the settings. First the whole file is checked. Then everything is loaded in one
 * transaction and compared with the backup before it is committed; a failure before that leaves the database as it was.
 * @throws {BackupError} as `checkBackup`; BACKUP_NEWER: this version is too old · BACKUP_TARGET: the database or the data
 *   folder is in use or not empty, or the key file cannot be written
 * @throws {DatabaseError}
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { config, prismaFolder } = options;
  const contents = await checkBackup(options.path, options.passphrase);
  await refuseUnknown(prismaFolder, contents.manifest);
  if (contents.files > 0 && !options.mayReplace) await refuseAgentFiles(config.dataDir);
  const keys = await planDataKeys(config, contents.manifest.dataKeys);
  const server = await openTarget(config, options.log);
  const files = new AgentDataWriter(join(config.dataDir, `restore-${randomBytes(4).toString('hex')}`));
  try {
    await withConnection(server.url, 'restore', async (client) => {
      await lockMigrations(client);
      await refuseNodes(client);
      if (contents.tables.some(({ group }) => group === 'tasks')) await options.createTaskTables(server.url);
      await client.query('BEGIN');
      await load(client, files, options);
      // Before the commit: rows without their key are lost, a key without rows is not in the way.
      await keys.write();
      await client.query('COMMIT');
    });
    await files.place(config.dataDir);
    const migrated = await applyMigrations(server.url, prismaFolder);
    return {
      createdAt: contents.manifest.createdAt,
      wa2ai: contents.manifest.wa2ai,
      tables: contents.tables.length,
      rows: contents.tables.reduce((sum, { rows }) => sum + rows, 0),
      files: contents.files,
      migrated,
      dataKeyFile: keys.path,
      settings: contents.manifest.settings,
    };
  } finally {
    await files.remove();
    await server.stop();
  }
}

/** The embedded database is created if there is none; both refuse a service that uses it. */
async function openTarget(config: DatabaseConfig, log: Logger): Promise<RunningPostgres> {
  if (config.databaseUrl === undefined) return startEmbeddedPostgres({ dataDir: config.dataDir, log });
  return connectExternalPostgres({ url: config.databaseUrl, nodeId: 'wa2ai restore', log });
}

/** Without --replace. @throws {BackupError} BACKUP_TARGET */
async function refuseAgentFiles(dataDir: string): Promise<void> {
  for (const folder of AGENT_FOLDERS) {
    const names = await readdir(join(dataDir, folder)).catch(() => []);
    if (names.length === 0) continue;
    throw new BackupError(
      'BACKUP_TARGET',
      `${join(dataDir, folder)} contains files. Restore into an empty data folder, or replace everything with --replace. Nothing was changed.`,
    );
  }
}

/** Creates the schema as it was in the backup, and loads it. The connection is in a transaction, which the caller ends. */
async function load(client: pg.Client, files: AgentDataWriter, options: RestoreOptions): Promise<void> {
  await client.query(TEXT_SETTINGS);
  const ours = await tableNames(options.prismaFolder);
  await clearTarget(client, ours, options.mayReplace);
  const reader = new RecordReader(readBackup(options.path, options.passphrase));
  try {
    for (let record = await reader.next(); record; record = await reader.next()) {
      switch (record.type) {
        case 'manifest': {
          const present = await presentMigrations(record.value.migrations, options.prismaFolder);
          const names = present.map(({ name }) => name);
          await createSchema(client, options.prismaFolder, names);
          await emptyTables(client, ours);
          break;
        }
        case 'table': {
          const { value } = record;
          await loadTable(client, value, reader.data(), () => reader.endOf('tableEnd'));
          break;
        }
        case 'sequences':
          await setSequences(client, record.value);
          break;
        case 'file':
          await files.write(record.value, reader.data());
          break;
      }
    }
  } finally {
    await reader.close();
  }
  await releaseChats(client);
  await files.finish();
}

/**
 * Loads a table and compares what the database then contains with what the backup says. Runs in the caller's transaction. A table
 * of the engine that its present version has no longer is left out: the backup is older, or was made while the engine migrated.
 */
async function loadTable(
  client: pg.ClientBase,
  table: TableHead,
  data: AsyncIterable<Buffer>,
  end: () => TableEnd,
): Promise<void> {
  if (table.group === 'tasks' && !(await isThere(client, table))) {
    for await (const _ of data);
    return;
  }
  const stream = client.query(copyFrom(copyIn(table)));
  const ended = finished(stream);
  ended.catch(() => undefined); // awaited below
  for await (const chunk of data) {
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), ended]);
  }
  stream.end();
  await ended;
  const loaded = await summarize(client, table);
  const expected = end();
  if (loaded.rows === expected.rows && loaded.digest === expected.digest) return;
  throw new BackupError(
    'BACKUP_DAMAGED',
    `The table ${quotedTable(table)} has ${loaded.rows} rows after the restore and ${expected.rows} in the backup, or rows that differ. Nothing was restored. Make a backup with the same version of wa2ai, and restore that one.`,
  );
}

async function isThere(client: pg.ClientBase, table: TableHead): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>('SELECT to_regclass($1) IS NOT NULL AS has', [
    quotedTable(table),
  ]);
  return rows[0]?.has ?? false;
}

/** Removes rows that migrations store, and the durable tasks of a database that is replaced. */
async function emptyTables(client: pg.ClientBase, ours: readonly string[]): Promise<void> {
  const tables = (await backupTables(client, ours)).map(quotedTable);
  await client.query(`TRUNCATE ${tables.join(', ')}`);
}

async function setSequences(client: pg.ClientBase, sequences: Sequences): Promise<void> {
  for (const [name, { lastValue, isCalled }] of Object.entries(sequences)) {
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [`"${name}"`, lastValue, isCalled]);
  }
}

/**
 * Removes the marks of processes that ran when the backup was made: a chat has no worker, so that the node that takes the
 * account starts one for each chat with an unanswered message.
 */
async function releaseChats(client: pg.ClientBase): Promise<void> {
  await client.query('UPDATE chat SET worker_node = NULL WHERE worker_node IS NOT NULL');
}

/** How long other programs may keep a table that is replaced. */
const LOCK_TIMEOUT = "SET LOCAL lock_timeout TO '15s'";

/**
 * Refuses a database that a node uses.
 * @throws {BackupError} BACKUP_TARGET
 */
async function refuseNodes(client: pg.ClientBase): Promise<void> {
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
 * @param tables names of wa2ai's own tables
 * @param mayReplace whether wa2ai's own tables may be removed with their rows
 * @throws {BackupError} BACKUP_TARGET: there are tables, of wa2ai and not to be replaced, or of another program
 */
async function clearTarget(
  client: pg.ClientBase,
  tables: readonly string[],
  mayReplace: boolean,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()`,
  );
  const ours = new Set([...tables, '_prisma_migrations']);
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
async function refuseUnknown(prismaFolder: string, { wa2ai, migrations }: Manifest): Promise<void> {
  const known = await migrationSums(prismaFolder);
  const present = await presentMigrations(migrations, prismaFolder);
  const other = present.find(({ name, sha256 }) => !known.get(name)?.includes(sha256));
  if (!other) return;
  throw new BackupError(
    'BACKUP_NEWER',
    `The backup was made by wa2ai ${wa2ai}, whose migration "${other.name}" this version (${packageVersion()}) does not have. Restore it with that version or a newer one. Nothing was changed.`,
  );
}

/** What a restore does with the data keys of a backup. */
interface DataKeyPlan {
  /** The key file that the service will read; undefined: the backup has no keys. */
  path: string | undefined;
  /** Writes the keys, readable for the owner only. Does nothing if the file has them. Idempotent. */
  write(): Promise<void>;
}

/**
 * Finds where the keys of a backup must be, and refuses before anything is changed. Keys that are there already stay as
 * further lines, because other values may need them.
 * @param backupText the key file of the backup
 * @throws {BackupError} BACKUP_TARGET: WA2AI_DATA_KEY_FILE is not set with DATABASE_URL
 */
async function planDataKeys(config: DatabaseConfig, backupText: string | undefined): Promise<DataKeyPlan> {
  if (backupText === undefined) return { path: undefined, write: async () => undefined };
  const path =
    config.dataKeyFile ?? (config.databaseUrl === undefined ? join(config.dataDir, 'data-key') : undefined);
  if (path === undefined) {
    throw new BackupError(
      'BACKUP_TARGET',
      'The backup contains a data key, and there is no place for it. Set WA2AI_DATA_KEY_FILE to a file that does not exist yet; the restore creates it. Nothing was changed.',
    );
  }
  const existing = await readIfThere(path).catch((error: unknown) => {
    throw cannotWrite(path, error);
  });
  const wanted = parseDataKeys(backupText, 'the key file of the backup').map(({ id }) => id);
  const there = existing === undefined ? [] : parseDataKeys(existing, path).map(({ id }) => id);
  if (wanted.every((id) => there.includes(id))) return { path, write: async () => undefined };
  const text = existing === undefined ? backupText : `${backupText.trimEnd()}\n${existing}`;
  return { path, write: () => writeKeys(path, text) };
}

async function writeKeys(path: string, text: string): Promise<void> {
  const draft = `${path}.restore`;
  try {
    await makeFolder(dirname(path));
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await chmod(draft, 0o600);
    await rename(draft, path);
    await readFile(path);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

function cannotWrite(path: string, error: unknown): BackupError {
  return new BackupError(
    'BACKUP_TARGET',
    `The data key of the backup cannot be stored in ${path} (${errorCode(error) ?? errorMessage(error)}). Nothing was restored. Write it to a file with --data-key-to, make that the key file of the service, and restore again.`,
    { cause: error },
  );
}

/**
 * Restores a backup into a temporary database, compares every row, and removes the database. This shows that this version can
 * restore the file. It touches neither the service nor its database.
 * @param tempDir where the temporary database is; it needs as much space as the restored one
 * @throws as `restoreBackup`
 */
export async function drillBackup(
  options: Omit<RestoreOptions, 'config' | 'mayReplace'>,
  tempDir: string = tmpdir(),
): Promise<RestoreReport> {
  const dataDir = await mkdtemp(join(tempDir, 'wa2ai-drill-'));
  try {
    return await restoreBackup({ ...options, config: { dataDir }, mayReplace: false });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
