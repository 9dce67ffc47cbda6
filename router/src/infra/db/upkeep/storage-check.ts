import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { StorageTroubleError, StorageUnavailableError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { say } from '../../../core/phrases.ts';
import type { StorageHealth } from '../../../core/ports/storage-health.ts';
import type { Postgres } from '../postgres.ts';
import { codeOf, DatabaseError, errorCode, errorMessage, withStorage } from '../stores/storage-errors.ts';
import { troubleOf } from './storage-faults.ts';
import { type MissingRight, missingRightSentence, missingRightsSql } from './table-privileges.ts';

/** A disk that was full counts as free when this much fits: a few rows often fit on a full disk. */
const PROBE_BYTES = 1_048_576;

interface StorageCheckDeps {
  postgres: Postgres;
  /** This node's name: the probe's row contains it. */
  nodeId: string;
  /** Migrations that this version knows, by name, and the tables that they make. */
  migrations: readonly string[];
  tables: readonly string[];
  /** Why the embedded server cannot run. */
  serverTrouble?(): StorageTroubleError | undefined;
  log: Logger;
}

/** How many looks rely on the last check, while no statement fails. */
const LOOKS_PER_CHECK = 12;

/** One sentence for all connection errors, which differ from check to check. */
const NO_ANSWER = 'The database does not answer.';

interface Finding {
  is_read_only: boolean;
  has_migrations: boolean;
}

/**
 * Checks whether the database can be used: it answers, is writable, has the tables and privileges that every statement
 * needs, was not migrated by a newer version, and, after it was full, has room again. Logs each change once.
 */
export class StorageCheck implements StorageHealth {
  readonly #deps: StorageCheckDeps;
  /** A statement found the disk full, and no probe has fitted since. */
  #wasFull = false;
  #hasFailed = false;
  #looks = 0;
  #reported: string | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: StorageCheckDeps) {
    this.#deps = deps;
  }

  get trouble(): string | undefined {
    return this.#reported;
  }

  /** Receives every error of a statement. */
  reportError(error: unknown): void {
    this.#hasFailed = true;
    if (troubleOf(codeOf(error), error)?.kind === 'full') this.#wasFull = true;
  }

  /**
   * For calls in short intervals: only whether the database answers, is writable and was not migrated by a newer version. The whole
   * check now and then, while there is trouble, and after a statement failed.
   */
  look(): Promise<void> {
    if (this.#hasFailed || this.#reported !== undefined || this.#looks++ % LOOKS_PER_CHECK === 0)
      return this.check();
    return this.#judge(async () => {
      await this.#checkWritable();
      await this.#refuseNewer();
    });
  }

  /** Concurrent calls share one check. */
  check(): Promise<void> {
    this.#running ??= this.#judge(async () => {
      this.#hasFailed = false;
      await this.#checkTables();
      await this.#refuseNewer();
      await this.#probe();
    }).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #judge(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#report(undefined);
    } catch (caught) {
      const isNamed = caught instanceof StorageTroubleError;
      const error = isNamed ? caught : (this.#deps.serverTrouble?.() ?? caught);
      if (error instanceof StorageUnavailableError) this.#report(error);
      throw error;
    }
  }

  async #checkWritable(): Promise<Finding | undefined> {
    const [finding] = await withStorage('checking it', () =>
      this.#deps.postgres.query<Finding>(sql`
        SELECT current_setting('transaction_read_only') = 'on' AS is_read_only,
          to_regclass('_prisma_migrations') IS NOT NULL
            AND has_table_privilege(to_regclass('_prisma_migrations'), 'SELECT') AS has_migrations`),
    );
    if (!finding?.is_read_only) return finding;
    throw new StorageTroubleError('read-only', say('storage.read-only'));
  }

  async #checkTables(): Promise<void> {
    const { postgres } = this.#deps;
    const finding = await this.#checkWritable();
    const missing = await withStorage('checking its privileges', () =>
      postgres.query<MissingRight>(missingRightsSql(this.#deps.tables)),
    );
    const sentence = missingRightSentence(missing);
    if (sentence) {
      const trouble = missing[0]?.right === null ? 'schema' : 'rights';
      throw new StorageTroubleError(trouble, { ...say(`storage.${trouble}`), sentence });
    }
    if (!finding?.has_migrations) {
      throw new StorageTroubleError('rights', say('storage.no-select'));
    }
  }

  /** A newer node may have migrated the database: what this version writes may no longer fit. */
  async #refuseNewer(): Promise<void> {
    const { postgres, migrations } = this.#deps;
    const applied = await withStorage('checking its migrations', () =>
      postgres.query<{ migration_name: string }>(sql`
        SELECT migration_name FROM "_prisma_migrations" WHERE rolled_back_at IS NULL ORDER BY started_at`),
    );
    const unknown = applied.find(({ migration_name: name }) => !migrations.includes(name));
    if (!unknown) return;
    throw new StorageTroubleError('newer', say('storage.newer', { migration: unknown.migration_name }));
  }

  async #probe(): Promise<void> {
    if (!this.#wasFull) return;
    const { postgres, nodeId } = this.#deps;
    const name = `probe ${nodeId}`;
    const filler = randomBytes(PROBE_BYTES);
    await withStorage('checking its free space', () =>
      postgres.execute(sql`
        INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
        VALUES ('', ${name}, 0, '', ${filler}, '')
        ON CONFLICT (account_id, ciphertext_hash) DO UPDATE SET plaintext = excluded.plaintext`),
    );
    await withStorage('checking its free space', () =>
      postgres.execute(sql`DELETE FROM journal WHERE account_id = '' AND ciphertext_hash = ${name}`),
    );
    this.#wasFull = false;
  }

  #report(error: StorageUnavailableError | undefined): void {
    const sentence = error instanceof StorageTroubleError ? error.message : error && NO_ANSWER;
    if (sentence === this.#reported) return;
    this.#reported = sentence;
    if (sentence) this.#deps.log.error({ trouble: sentence }, 'database not usable');
    else this.#deps.log.info({}, 'database usable again');
  }
}

/** Messages of PostgreSQL and its tools about a full disk; wa2ai starts them in English. */
const NO_SPACE = /No space left on device|Disk quota exceeded|Check free disk space/i;
/** Node's codes, and PostgreSQL's `disk_full`. */
const NO_SPACE_CODES: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', '53100']);

/** PostgreSQL does not start with less space than one WAL file takes. */
const LEAST_BYTES = 16 * 1024 * 1024;

const SENTENCE = 'The disk of the embedded database (WA2AI_DATA_DIR) is full. Free space on it.';

/** Replaces the error of a start if a full disk caused it; returns any other one unchanged. */
export async function orFullDisk(error: unknown, dataDir: string): Promise<unknown> {
  if (!(await isDiskFull(error, dataDir))) return error;
  return new DatabaseError('DATABASE_FULL', `${SENTENCE} Then start wa2ai again.`, { cause: error });
}

/** The same for a server that ended while wa2ai runs; undefined if the disk is not full. */
export async function fullDiskTrouble(
  error: unknown,
  dataDir: string,
): Promise<StorageTroubleError | undefined> {
  if (!(await isDiskFull(error, dataDir))) return undefined;
  return new StorageTroubleError('full', { ...say('storage.full'), sentence: SENTENCE }, { cause: error });
}

async function isDiskFull(error: unknown, dataDir: string): Promise<boolean> {
  // with no space at all, the server's messages are lost too
  const isSilent = error instanceof DatabaseError && error.code === 'DATABASE_START';
  return isFullDiskError(error) || (isSilent && (await hasNoRoom(dataDir)));
}

/** Whether an error or one of its causes says that a disk is full. */
function isFullDiskError(error: unknown): boolean {
  if (NO_SPACE_CODES.has(errorCode(error)) || NO_SPACE.test(errorMessage(error))) return true;
  return error instanceof Error && error.cause !== undefined && isFullDiskError(error.cause);
}

async function hasNoRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize < LEAST_BYTES;
  } catch {
    return false; // a missing folder is another failure
  }
}
