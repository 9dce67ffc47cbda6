import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { projectFolder } from '../../config/package-version.ts';
import type { StorageTroubleError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { connectExternalPostgres, withConnection } from './connections/external-postgres.ts';
import { type RunningPostgres, startEmbeddedPostgres } from './embedded/embedded-postgres.ts';
import { openSecrets } from './encryption/re-encrypt.ts';
import type { SecretCipher, SecretColumn } from './encryption/secret-cipher.ts';
import { createFile, makeFolder, readIfThere } from './files.ts';
import { DatabaseError, errorMessage } from './stores/storage-errors.ts';
import { migrate, migrationNames, tableNames } from './upkeep/migrations.ts';
import { orFullDisk } from './upkeep/storage-check.ts';

/** The settings that choose the database. */
export interface DatabaseConfig {
  /** Folder of the embedded database and of this node's name. */
  dataDir: string;
  /** If set, this PostgreSQL instead of the embedded one. */
  databaseUrl?: string;
  /** File with the keys that encrypt secrets; by default one in the data folder for the embedded database, else none. */
  dataKeyFile?: string;
  /** This node's name; by default the one stored in the data folder. */
  nodeId?: string;
}

/** An open, migrated database; no other process uses it as the same node. */
export interface Database {
  /** Contains the password: never log it. */
  url: string;
  /** Releases it; the embedded one is stopped. Idempotent, resolves when everything is written. */
  stop(): Promise<void>;
  /** Why the embedded server cannot run; undefined while it runs, and for an external one. */
  trouble(): StorageTroubleError | undefined;
  /** This node's name. */
  nodeId: string;
  /** Encrypts the secrets in it. */
  secrets: SecretCipher;
  /** Migrations that this version knows, by name, and the tables that they make. */
  migrations: readonly string[];
  tables: readonly string[];
  /** For a process that ends immediately: the embedded server stops soon after. */
  abandon(): void;
}

/**
 * Opens the database of the settings and brings it up to date.
 * @param secretColumns called when values must be encrypted again
 * @param onServerStart called when the server starts, or answers, without further work of this process
 * @throws {DatabaseError} with a sentence for the operator; nothing that this call started is left running
 */
export async function openDatabase(
  config: DatabaseConfig,
  log: Logger,
  secretColumns: () => Promise<readonly SecretColumn[]>,
  onServerStart?: () => void,
): Promise<Database> {
  if (config.databaseUrl) {
    onServerStart?.();
    const nodeId = await nodeIdFrom(config);
    const database = await connectExternalPostgres({ url: config.databaseUrl, nodeId, log });
    return prepare(config, database, log, secretColumns);
  }
  const database = await startEmbeddedPostgres({ dataDir: config.dataDir, log, onServerStart });
  return prepare(config, database, log, secretColumns).catch(async (error: unknown) => {
    throw await orFullDisk(error, config.dataDir);
  });
}

async function nodeIdFrom(config: DatabaseConfig): Promise<string> {
  return config.nodeId ?? nodeIdOf(config.dataDir);
}

async function prepare(
  config: DatabaseConfig,
  database: RunningPostgres,
  log: Logger,
  columns: () => Promise<readonly SecretColumn[]>,
): Promise<Database> {
  const { url } = database;
  try {
    const folder = join(projectFolder(), 'prisma');
    const nodeId = await nodeIdFrom(config);
    const secrets = await withConnection(url, 'migrations', async (client) => {
      const applied = await migrate(client, folder);
      if (applied.length > 0) log.info({ mod: 'database', migrations: applied }, 'database migrated');
      return openSecrets(client, {
        keyFile: config.dataKeyFile,
        dataDir: config.databaseUrl === undefined ? config.dataDir : undefined,
        nodeId,
        columns,
        log: log.child({ mod: 'database' }),
      });
    });
    return {
      url,
      nodeId,
      secrets,
      trouble: () => database.trouble,
      migrations: await migrationNames(folder),
      tables: await tableNames(folder),
      stop: () => database.stop(),
      abandon: () => database.abandon(),
    };
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/**
 * The name of this node: created by the first call and stored in `<dataDir>/node-id`, so that a restarted node resumes its
 * work. Concurrent calls return the same name.
 * @throws {DatabaseError} DATABASE_FOLDER: the data folder cannot be read or written
 */
export async function nodeIdOf(dataDir: string): Promise<string> {
  const file = join(dataDir, 'node-id');
  try {
    await makeFolder(dataDir);
    const text =
      (await readIfThere(file)) ?? (await createFile(file, `node-${randomBytes(6).toString('hex')}\n`));
    const id = text.trim();
    if (id === '') throw new Error('the file is empty');
    return id;
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The name of this node cannot be stored in ${file}: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write, or WA2AI_NODE_ID to a name.`,
      { cause: error },
    );
  }
}
