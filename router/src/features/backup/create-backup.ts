import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { packageVersion } from '../../config/package-version.ts';
import type { Logger } from '../../core/logger.ts';
import { withConnection } from '../../infra/db/connections/external-postgres.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { dataKeysOfFolder, PLAIN, readDataKeys } from '../../infra/db/encryption/secret-cipher.ts';
import { errorCode, errorMessage } from '../../infra/db/stores/storage-errors.ts';
import {
  migrationNames,
  presentMigrations,
  type RecordedMigration,
  tableNames,
} from '../../infra/db/upkeep/migrations.ts';
import { dumpAgentData, type LeftOut } from './agent-data.ts';
import {
  type BackupRecord,
  backupTables,
  copyOut,
  dataRecords,
  encodeRecords,
  type Manifest,
  RowDigest,
  type Sequences,
  TASKS_SCHEMA,
  type TableEnd,
  type TableHead,
  TEXT_SETTINGS,
} from './records.ts';
import { BackupError, openSource, sealed } from './sealed-file.ts';

/** The tables of durable tasks are complete when nothing changed them for so long. */
const SETTLED_MS = 1_000;

interface CreateBackupOptions {
  /** Where the database, the data key and the files are. */
  config: DatabaseConfig;
  /** `prisma` of the project. */
  prismaFolder: string;
  /** A file that does not exist yet. */
  path: string;
  passphrase: string;
  /** Settings that the backup contains. */
  settings: Record<string, string>;
  log: Logger;
  /** Of scrypt; tests use a small one. */
  scryptCost?: number;
  /** How long the tables of durable tasks must stay as they are, in milliseconds; tests use a short time. Default: 1,000. */
  settledMs?: number;
}

export interface BackupReport {
  path: string;
  bytes: number;
  createdAt: string;
  tables: number;
  rows: number;
  files: number;
  /** Files of hosted agents that are not in the backup, or in part, because they could not be read. */
  leftOut: LeftOut;
}

/**
 * Writes an encrypted backup of the database, the data keys, the settings and the files of hosted agents, in one snapshot, while
 * the service runs or not. The file appears when it is complete, readable for its owner only. Memory: the longest row.
 * @throws {BackupError} BACKUP_FILE: the file exists or cannot be written · BACKUP_SOURCE: there is nothing to back up, the
 *   data key is missing, or a folder of wa2ai cannot be read
 * @throws {DatabaseError}
 */
export async function createBackup(options: CreateBackupOptions): Promise<BackupReport> {
  const { path, config } = options;
  if (await isThere(path)) {
    throw new BackupError('BACKUP_FILE', `${path} exists already. Choose another name, or remove it first.`);
  }
  const draft = `${path}.part-${randomBytes(4).toString('hex')}`;
  const source = await openSource(config, options.log);
  try {
    return await withConnection(source.url, 'backup', async (client) => {
      const manifest = await manifestOf(client, options);
      const counts = { tables: [] as TableSummary[], files: 0, leftOut: { count: 0, files: [] } as LeftOut };
      await pipeline(
        Readable.from(encodeRecords(recordsOf(client, manifest, options, counts))),
        createGzip(),
        (zipped: AsyncIterable<Uint8Array>) => sealed(zipped, options.passphrase, options.scryptCost),
        createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true }),
      );
      await rename(draft, path);
      await syncFolder(dirname(path));
      return {
        path,
        bytes: (await stat(path)).size,
        createdAt: manifest.createdAt,
        tables: counts.tables.length,
        rows: counts.tables.reduce((sum, { rows }) => sum + rows, 0),
        files: counts.files,
        leftOut: counts.leftOut,
      };
    });
  } catch (error) {
    throw explainWrite(error, path);
  } finally {
    await rm(draft, { force: true });
    await source.close();
  }
}

async function* recordsOf(
  client: pg.Client,
  manifest: Manifest,
  { config, prismaFolder }: CreateBackupOptions,
  counts: { tables: TableSummary[]; files: number; leftOut: LeftOut },
): AsyncGenerator<BackupRecord> {
  yield { type: 'manifest', value: manifest };
  counts.tables = yield* dumpDatabase(client, await tableNames(prismaFolder));
  counts.files = yield* dumpAgentData(config.dataDir, counts.leftOut);
  yield { type: 'end', value: { tables: counts.tables.length, files: counts.files } };
}

/** Begins the snapshot, and checks that this version knows all that is in it. */
async function manifestOf(client: pg.Client, options: CreateBackupOptions): Promise<Manifest> {
  const { config, prismaFolder, settings, settledMs } = options;
  const { rows: found } = await client.query<{ has: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AND to_regclass('data_key_use') IS NOT NULL AS has`,
  );
  if (!found[0]?.has) {
    throw new BackupError(
      'BACKUP_SOURCE',
      'The database has no tables of wa2ai: there is nothing to back up.',
    );
  }
  await untilTaskTablesSettled(client, settledMs);
  await beginSnapshot(client);
  const { rows: recorded } = await client.query<RecordedMigration>(
    `SELECT migration_name AS name, checksum AS sha256 FROM _prisma_migrations
     WHERE rolled_back_at IS NULL AND finished_at IS NOT NULL ORDER BY migration_name`,
  );
  const migrations = await presentMigrations(recorded, prismaFolder);
  const known = new Set(await migrationNames(prismaFolder));
  const unknown = migrations.find(({ name }) => !known.has(name));
  if (unknown) {
    throw new BackupError(
      'BACKUP_NEWER',
      `A newer wa2ai has migrated the database ("${unknown.name}"). Make the backup with that version.`,
    );
  }
  const { rows: now } = await client.query<{ server: string; at: Date }>(
    `SELECT current_setting('server_version') AS server, now() AS at`,
  );
  return {
    createdAt: (now[0]?.at ?? new Date(0)).toISOString(),
    wa2ai: packageVersion(),
    server: `PostgreSQL ${now[0]?.server}`,
    migrations,
    dataKeys: await dataKeysText(client, config),
    settings,
  };
}

/**
 * The service makes the tables of durable tasks with the first task, in many steps that each commit. A snapshot between two
 * of them has tables that a restore does not know. Resolves when no step was done for `settledMs`.
 */
async function untilTaskTablesSettled(client: pg.Client, settledMs = SETTLED_MS): Promise<void> {
  const version = async () => {
    const { rows: found } = await client.query<{ has: boolean; isBegun: boolean }>(
      `SELECT to_regclass('${TASKS_SCHEMA}.dbos_migrations') IS NOT NULL AS has,
         to_regnamespace('${TASKS_SCHEMA}') IS NOT NULL AS "isBegun"`,
    );
    if (!found[0]?.has) return found[0]?.isBegun ? '' : undefined;
    const { rows } = await client.query<{ version: string }>(
      `SELECT version::text FROM ${TASKS_SCHEMA}.dbos_migrations`,
    );
    return rows[0]?.version ?? '';
  };
  for (let before = await version(); before !== undefined; ) {
    await setTimeout(settledMs);
    const now = await version();
    if (now === before) return;
    before = now;
  }
}

/** The text of the key file, when values may be encrypted with one of its keys. */
async function dataKeysText(client: pg.Client, config: DatabaseConfig): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>('SELECT DISTINCT key_id AS id FROM data_key_use');
  const needed = rows.map(({ id }) => id).filter((id) => id !== PLAIN);
  if (needed.length === 0) return undefined;
  const { dataKeyFile, databaseUrl, dataDir } = config;
  if (dataKeyFile === undefined && databaseUrl !== undefined) {
    throw missingKey('WA2AI_DATA_KEY_FILE is not set');
  }
  const file =
    dataKeyFile === undefined ? await dataKeysOfFolder(dataDir, false) : await readDataKeys(dataKeyFile);
  const missing = needed.find((id) => !file.keys.some((key) => key.id === id));
  if (missing !== undefined)
    throw missingKey(`the key file ${file.path} does not contain the key ${missing}`);
  return readFile(file.path, 'utf8');
}

function missingKey(reason: string): BackupError {
  return new BackupError(
    'BACKUP_SOURCE',
    `A backup without the data key cannot be used, and ${reason}. Run this command with the settings of the service.`,
  );
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** So that a power cut does not remove the name of the file. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

function explainWrite(error: unknown, path: string): unknown {
  const code = errorCode(error) ?? '';
  if (!['EACCES', 'ENOENT', 'ENOSPC', 'EROFS', 'EPERM', 'ENOTDIR', 'EDQUOT'].includes(code)) return error;
  const advice =
    code === 'ENOSPC' ? 'Free space, or choose another folder.' : 'Choose a folder that you may write.';
  return new BackupError(
    'BACKUP_FILE',
    `The backup ${path} cannot be written (${errorMessage(error)}). ${advice}`,
    {
      cause: error,
    },
  );
}

/**
 * Begins the one snapshot that a backup is made of: what others commit from now on is not in it, and nobody waits for it.
 * The end of the connection ends it.
 */
async function beginSnapshot(client: pg.ClientBase): Promise<void> {
  await client.query(TEXT_SETTINGS);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
}

/** All tables with their rows, then the sequences. Memory: the longest row. */
async function* dumpDatabase(
  client: pg.ClientBase,
  tables: readonly string[],
): AsyncGenerator<BackupRecord, TableSummary[], undefined> {
  const summaries: TableSummary[] = [];
  for (const table of await backupTables(client, tables)) {
    yield { type: 'table', value: table };
    const digest = new RowDigest();
    yield* dataRecords(rowsOf(client, table, digest));
    const value: TableEnd = { rows: digest.rows, digest: digest.digest };
    yield { type: 'tableEnd', value };
    summaries.push({ ...table, ...value });
  }
  yield { type: 'sequences', value: await readSequences(client) };
  return summaries;
}

/** A table and what is in it. */
export type TableSummary = TableHead & TableEnd;

/** How many rows a table has, and their digest. */
export async function summarize(client: pg.ClientBase, table: TableHead): Promise<TableEnd> {
  const digest = new RowDigest();
  for await (const _ of rowsOf(client, table, digest));
  return { rows: digest.rows, digest: digest.digest };
}

async function* rowsOf(
  client: pg.ClientBase,
  table: TableHead,
  digest: RowDigest,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of client.query(copyTo(copyOut(table)))) {
    digest.add(chunk);
    yield chunk;
  }
}

/** A sequence belongs to no snapshot: read after the rows, it is at least as high as their ids. */
async function readSequences(client: pg.ClientBase): Promise<Sequences> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT sequencename::text AS name FROM pg_sequences WHERE schemaname = current_schema()`,
  );
  const sequences: Sequences = {};
  for (const { name } of rows) {
    const { rows: state } = await client.query<{ lastValue: string; isCalled: boolean }>(
      `SELECT last_value::text AS "lastValue", is_called AS "isCalled" FROM "${name}"`,
    );
    if (state[0]) sequences[name] = state[0];
  }
  return sequences;
}
