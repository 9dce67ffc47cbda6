import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { StorageTroubleError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { MediaStore } from '../core/ports/media.ts';
import { AgentTransport } from '../infra/agents/transport/agent-transport.ts';
import { Egress } from '../infra/agents/transport/egress.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import type { Database } from '../infra/db/database.ts';
import { Postgres } from '../infra/db/postgres.ts';
import { FileUpkeep } from '../infra/db/upkeep/file-upkeep.ts';
import { StorageCheck } from '../infra/db/upkeep/storage-check.ts';
import { DiskMediaStore, ReplyFileStores } from '../infra/media/disk-media-store.ts';
import { S3MediaStore } from '../infra/media/s3-media-store.ts';

/** A part of the service: what other parts use of it, and how it starts and stops. */
export interface Part<Parts> {
  readonly parts: Parts;
  start(): Promise<void>;
  /** Called once, also when `start` failed. */
  stop(): Promise<void>;
}

const CHECK_EVERY_MS = 5_000;
/** Statements of the start that run at the same time. */
const CONNECTIONS_OF_START = 2;

export interface DatabaseParts {
  /** Contains a password: never log it. */
  databaseUrl: string;
  postgres: Postgres;
  storage: StorageCheck;
  /** Removes files of media stores that no row names. */
  fileUpkeep: FileUpkeep;
  /** This node's stable name. */
  nodeId: string;
  /** Resolves with the operator's sentence when a newer version has migrated the database: this process must stop. */
  untilOutdated: Promise<string>;
  /** For a process that ends immediately. */
  abandon(): void;
}

/** What uses the open database; stopped, closes it. */
export function openStorage(config: Config, log: Logger, database: Database): Part<DatabaseParts> {
  const { nodeId } = database;
  const { stores, files } = mediaStores(config, log.child({ mod: 'media' }));
  const postgres = new Postgres(database.url, { secrets: database.secrets, files });
  const storage = new StorageCheck({
    postgres,
    nodeId,
    migrations: database.migrations,
    tables: database.tables,
    serverTrouble: () => database.trouble(),
    log: log.child({ mod: 'database' }),
  });
  postgres.onError((error) => storage.reportError(error));
  postgres.connectAhead(CONNECTIONS_OF_START);
  const fileUpkeep = new FileUpkeep({
    ...{ postgres, stores, maxDiskBytes: config.media.maxBytes, clock: systemClock },
    log: log.child({ mod: 'media' }),
  });
  const stopping = new AbortController();
  const untilOutdated = checkUntilOutdated(storage, stopping.signal);
  return {
    parts: {
      databaseUrl: database.url,
      postgres,
      storage,
      fileUpkeep,
      nodeId,
      untilOutdated,
      abandon: () => database.abandon(),
    },
    start: async () => undefined,
    stop: async () => {
      stopping.abort();
      await postgres.close();
      await database.stop();
    },
  };
}

/** Checks the database from time to time; never resolves while this version may use it. */
async function checkUntilOutdated(storage: StorageCheck, stopping: AbortSignal): Promise<string> {
  for (;;) {
    try {
      await systemClock.sleep(CHECK_EVERY_MS, stopping);
      await storage.look();
    } catch (error) {
      if (stopping.aborted) return new Promise(() => undefined);
      if (error instanceof StorageTroubleError && error.trouble === 'newer') return error.message;
    }
  }
}

/** The stores of files that this node can read, and where new files go. */
function mediaStores(config: Pick<Config, 'media' | 'dataDir'>, log: Logger) {
  const { store, dir, maxBytes, s3 } = config.media;
  // The operator names the S3 server, so that no egress rule applies.
  const transport = new AgentTransport(new Egress('any'));
  const stores: MediaStore[] = [
    new DiskMediaStore({ folder: dir ?? join(config.dataDir, 'media'), maxBytes }),
    ...(s3 ? [new S3MediaStore(s3, { transport, clock: systemClock })] : []),
  ];
  const files = new ReplyFileStores({ stores, use: store === 'database' ? undefined : store, log });
  return { stores, files };
}
