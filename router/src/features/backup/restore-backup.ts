import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { Logger } from '../../core/ports/logger.ts';
import { connectExternalPostgres } from '../../infra/db/connections/external-postgres.ts';
import { withConnection } from '../../infra/db/connections/with-connection.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { type RunningPostgres, startEmbeddedPostgres } from '../../infra/db/embedded/embedded-postgres.ts';
import {
  applyMigrations,
  createSchema,
  lockMigrations,
  presentMigrations,
} from '../../infra/db/upkeep/migrations.ts';
import { AGENT_FOLDERS, AgentDataWriter } from './agent-data.ts';
import { BackupError } from './backup-errors.ts';
import { TEXT_SETTINGS } from './backup-tables.ts';
import { emptyTables, loadTable, releaseChats, setSequences } from './load-database.ts';
import { checkBackup, readBackup } from './read-backup.ts';
import { RecordReader } from './record-reader.ts';
import { clearTarget, refuseNodes, refuseUnknown } from './restore-target.ts';
import { planDataKeys } from './restored-keys.ts';

export interface RestoreOptions {
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
  await clearTarget(client, options.mayReplace);
  const reader = new RecordReader(readBackup(options.path, options.passphrase));
  try {
    for (let record = await reader.next(); record; record = await reader.next()) {
      switch (record.type) {
        case 'manifest': {
          const present = await presentMigrations(record.value.migrations, options.prismaFolder);
          const names = present.map(({ name }) => name);
          await createSchema(client, options.prismaFolder, names);
          await emptyTables(client);
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
