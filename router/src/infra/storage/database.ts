import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { StorageTroubleError } from '../../core/errors.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { connectExternalPostgres } from './connections/external-postgres.ts';
import { startEmbeddedPostgres } from './embedded/embedded-postgres.ts';
import { nodeIdOf } from './embedded/node-id.ts';
import { orFullDisk } from './upkeep/full-disk.ts';
import { applyMigrations, migrationNames } from './upkeep/migrations.ts';

/** What of the service's settings chooses the database. */
export interface DatabaseConfig {
  /** Folder of the built-in database and of this node's name. */
  dataDir: string;
  /** Set: this PostgreSQL instead of the built-in one. */
  databaseUrl?: string;
  /** This node's name; by default the one kept in the data folder. */
  nodeId?: string;
}

/** An open, migrated database that no other process uses as the same node. */
export interface Database {
  /** For Prisma and the workflows. Holds a password: never for a log. */
  url: string;
  /** Releases it; the built-in one is stopped. Idempotent, resolves when all is written. */
  stop(): Promise<void>;
  /** What keeps the built-in server from running; undefined while it runs, and for another one. */
  trouble(): StorageTroubleError | undefined;
  /** Migrations that this version knows, by name. */
  migrations: readonly string[];
  /** For a process that ends at once: the built-in one ends by itself soon after. */
  abandon(): void;
}

/**
 * Opens the database of the settings and brings it up to date. What takes time is told to `log` at info.
 * @throws {DatabaseError} with a sentence for the operator; nothing is left running that this call started
 */
export async function openDatabase(config: DatabaseConfig, log: Logger): Promise<Database> {
  const onProgress = (sentence: string) => log.info({ mod: 'database' }, sentence);
  const database = config.databaseUrl
    ? await connectExternalPostgres({
        url: config.databaseUrl,
        nodeId: config.nodeId ?? (await nodeIdOf(config.dataDir)),
        log,
        onProgress,
      })
    : await startEmbeddedPostgres({ dataDir: config.dataDir, log, onProgress });
  try {
    const folder = findPrismaFolder();
    const applied = await applyMigrations(database.url, folder);
    const migrations = await migrationNames(folder);
    if (applied.length > 0) log.info({ mod: 'database', migrations: applied }, 'the database was migrated');
    return {
      url: database.url,
      trouble: () => database.trouble,
      migrations,
      stop: () => database.stop(),
      abandon: () => database.abandon(),
    };
  } catch (error) {
    await database.stop();
    throw config.databaseUrl ? error : await orFullDisk(error, config.dataDir);
  }
}

/** `prisma` of the project; the sources and the build have it at different distances. */
function findPrismaFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const prisma = join(folder, 'prisma');
    if (existsSync(join(prisma, 'migrations'))) return prisma;
  }
  throw new TypeError('the folder "prisma" is missing beside the program');
}
