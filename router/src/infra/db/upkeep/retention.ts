import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { RetentionDays } from '../../../config/config.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from '../stores/storage-errors.ts';
import type { FileUpkeep } from './file-upkeep.ts';

const DAY_MS = 86_400_000;
/** Rows of one statement: few enough to delay nothing else. */
const BATCH = 500;
/** Statements of one kind in one run; the next run continues. */
const MAX_BATCHES = 200;
/** Between two statements, so that messages have priority. */
const PAUSE_MS = 50;
const FIRST_RUN_AFTER_MS = 60_000;
const RUN_EVERY_MS = 600_000;

/** A setting `WA2AI_RETENTION_..._DAYS`. */
type RetentionKind = keyof RetentionDays;

/** A statement that deletes (or empties) at most `batch` rows that ended before `before`. */
export type DeleteBatch = (before: Date, batch: number) => Sql;

/** What of the tables of a feature, or of the core, is deleted when. Only the owner of a table names it. */
export interface RetentionRules {
  /** Kinds of old rows. Each statement returns its rows, and is repeated while it finds a whole batch. */
  readonly batches?: Partial<Record<RetentionKind, DeleteBatch>>;
  /** What is deleted in the statement of each batch of a kind, which may be another's; `gone` has the rows of the batch. */
  readonly with?: Partial<Record<RetentionKind, readonly DeleteBatch[]>>;
  /** Tables that may be missing: their kind has no rows then. */
  readonly needs?: Partial<Record<RetentionKind, string>>;
  /** Deletes what needs no setting, in each run. @throws {StorageUnavailableError} */
  readonly always?: ReadonlyArray<(postgres: Postgres) => Promise<void>>;
}

interface RetentionDeps {
  postgres: Postgres;
  /** Of the core, then of each feature, in the order in which they are carried out. */
  rules: readonly RetentionRules[];
  limits: RetentionDays;
  /** Removes files of stores that no row names. */
  fileUpkeep?: Pick<FileUpkeep, 'run'>;
  clock: Clock;
  log: Logger;
}

/**
 * Removes finished data that is older than its limit: in small batches, on a timer, on one node at a time. After a crash
 * the next run continues.
 */
export class Retention {
  readonly #deps: RetentionDeps;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  /** Runs a minute after the start, then every ten minutes. */
  start(): void {
    this.#running = this.#runRepeatedly();
  }

  /** Resolves when the current batch has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /**
   * One run over every kind that has a limit, then over what needs no setting.
   * @returns rows removed (texts emptied) by kind, without kinds that failed or that another node works on
   * @throws {StorageUnavailableError} what needs no setting could not be removed; the other rows are removed
   */
  async runOnce(): Promise<Partial<Record<RetentionKind, number>>> {
    const { rules, limits, clock, log, postgres } = this.#deps;
    const removed: Partial<Record<RetentionKind, number>> = {};
    for (const { batches = {}, needs = {} } of rules) {
      for (const kind of Object.keys(batches) as RetentionKind[]) {
        const days = limits[kind];
        const deleteBatch = batches[kind];
        if (days === 0 || !deleteBatch) continue;
        try {
          if (needs[kind] !== undefined && !(await this.#hasTable(needs[kind]))) continue;
          const rows = await this.#prune(kind, deleteBatch, new Date(clock.now() - days * DAY_MS));
          if (rows !== undefined) removed[kind] = rows;
        } catch (error) {
          // A damaged or slow row must not keep rows of other kinds.
          if (this.#stopping.signal.aborted) throw error;
          log.warn({ err: error, kind }, 'cannot remove old rows, retrying in the next run');
        }
      }
    }
    for (const { always = [] } of rules) for (const remove of always) await remove(postgres);
    await this.#deps.fileUpkeep?.run(this.#stopping.signal);
    return removed;
  }

  async #hasTable(table: string): Promise<boolean> {
    const [row] = await this.#deps.postgres.query<{ has: boolean }>(sql`
      SELECT to_regclass(${table}) IS NOT NULL AS has`);
    return row?.has ?? false;
  }

  async #runRepeatedly(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopping;
    let waitMs = FIRST_RUN_AFTER_MS;
    while (!signal.aborted) {
      try {
        await clock.sleep(waitMs, signal);
        const removed = await this.runOnce();
        if (Object.values(removed).some((rows) => rows > 0)) log.info({ removed }, 'old rows removed');
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ err: error }, 'cannot remove old rows, retrying in the next run');
      }
      waitMs = RUN_EVERY_MS;
    }
  }

  async #prune(kind: RetentionKind, deleteBatch: DeleteBatch, before: Date): Promise<number | undefined> {
    const others = this.#deps.rules.flatMap((rules) => rules.with?.[kind] ?? []);
    const parts = [deleteBatch, ...others].map(
      (each, n) => sql`${raw(n === 0 ? 'gone' : `gone_with_${n}`)} AS (${each(before, BATCH)})`,
    );
    const statement = sql`WITH ${join(parts)} SELECT count(*)::integer AS rows FROM gone`;
    let removed = 0;
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const rows = await this.#pruneBatch(statement);
      if (rows === undefined) return batch === 0 ? undefined : removed;
      removed += rows;
      if (rows < BATCH) break;
      await this.#deps.clock.sleep(PAUSE_MS, this.#stopping.signal);
    }
    return removed;
  }

  /** @returns undefined if another node works on it */
  async #pruneBatch(statement: Sql): Promise<number | undefined> {
    return withStorage('removing old rows', () =>
      this.#deps.postgres.transaction(async (transaction) => {
        const [lock] = await transaction.query<{ taken: boolean }>(sql`
          SELECT pg_try_advisory_xact_lock(hashtextextended('wa2ai retention', 0)) AS taken`);
        if (!lock?.taken) return undefined;
        const [result] = await transaction.query<{ rows: number }>(statement);
        return result?.rows ?? 0;
      }),
    );
  }
}
