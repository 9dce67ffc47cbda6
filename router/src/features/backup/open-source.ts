import { join } from 'node:path';
import type { Logger } from '../../core/ports/logger.ts';
import { PostgresClient } from '../../infra/db/connections/postgres-client.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { startEmbeddedPostgres } from '../../infra/db/embedded/embedded-postgres.ts';
import { readPidFile, serverFolder } from '../../infra/db/embedded/postgres-folder.ts';
import { urlOfFolder } from '../../infra/db/embedded/service-role.ts';
import { readIfThere } from '../../infra/db/files.ts';
import { BackupError } from './backup-errors.ts';

/** A database that is read beside the service. */
export interface Source {
  /** Contains the password: never log it. */
  url: string;
  /** Stops the embedded server if `openSource` started it. */
  close(): Promise<void>;
}

/**
 * Opens the database of the settings beside a service that may be using it: the embedded server when it runs, else started
 * for this. Creates no database.
 * @throws {BackupError} BACKUP_SOURCE: there is no embedded database
 * @throws {DatabaseError} the embedded database does not start
 */
export async function openSource(config: DatabaseConfig, log: Logger): Promise<Source> {
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, close: async () => undefined };
  const folder = serverFolder(join(config.dataDir, 'postgres'));
  if ((await readIfThere(join(folder.data, 'PG_VERSION'))) === undefined) {
    throw new BackupError(
      'BACKUP_SOURCE',
      `${config.dataDir} contains no database. Set WA2AI_DATA_DIR or DATABASE_URL as the service has it.`,
    );
  }
  const url = await urlOfRunning(folder);
  if (url !== undefined) return { url, close: async () => undefined };
  const server = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  return { url: server.url, close: () => server.stop() };
}

/** Only the server of this folder accepts its password. */
async function urlOfRunning(folder: ReturnType<typeof serverFolder>): Promise<string | undefined> {
  const pidFile = await readPidFile(folder);
  if (pidFile?.port === undefined) return undefined;
  const url = await urlOfFolder(folder, pidFile.port);
  const client = new PostgresClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  const isRunning = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  return isRunning ? url : undefined;
}
