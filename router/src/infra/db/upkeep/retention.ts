import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { RetentionDays } from '../../../config/live-settings.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Postgres, Statements } from '../postgres.ts';
import { withStorage } from '../stores/storage-errors.ts';
import type { FileUpkeep } from './file-upkeep.ts';

const MAX_FORGOTTEN = 5_000;

/** Removes tokens that expired more than a week ago, some at a time: they are unknown then. */
async function forgetReplyTokens(postgres: Statements): Promise<void> {
  await withStorage('removing old reply tokens', () =>
    postgres.query(sql`
      DELETE FROM reply_token WHERE token_hash IN (
        SELECT token_hash FROM reply_token WHERE expires_at < now() - interval '7 days'
        ORDER BY expires_at LIMIT ${MAX_FORGOTTEN})`),
  );
}

/** Removes calls with an `Idempotency-Key` that began more than a day ago, some at a time. */
async function forgetRepeatedCalls(postgres: Statements): Promise<void> {
  await withStorage('removing old calls with an Idempotency-Key', () =>
    postgres.execute(sql`
      DELETE FROM repeated_call WHERE (caller, key) IN (
        SELECT caller, key FROM repeated_call WHERE begun_at <= now() - interval '1 day' LIMIT ${MAX_FORGOTTEN})`),
  );
}

/** Deletes answers about numbers that are too old to be used. */
async function forgetNumberChecks(postgres: Pick<Statements, 'execute'>): Promise<void> {
  await withStorage('removing old answers about numbers', () =>
    postgres.execute(sql`DELETE FROM number_check WHERE checked_at < now() - interval '30 days'`),
  );
}

/** A node that has not updated its row for this long and has no process is removed. */
const FORGET_AFTER = '1 hour';

/** Removes nodes that ended long ago without leaving. @throws {StorageUnavailableError} */
async function forgetGoneNodes(postgres: Statements): Promise<void> {
  await withStorage('removing ended nodes', () =>
    postgres.execute(sql`
      DELETE FROM node WHERE seen_at < now() - ${FORGET_AFTER}::interval AND NOT node_has_lock(id)`),
  );
}

/** By message, which is about by age: a row of a message that was replayed later waits for its own age. */
const DELETE_EXCHANGES: DeleteBatch = (before, batch) => sql`
    DELETE FROM agent_exchange WHERE (message_id, id) IN (
      SELECT message_id, id FROM (
        SELECT message_id, id, stored_at FROM agent_exchange ORDER BY message_id, id LIMIT ${batch}) AS oldest
      WHERE stored_at < ${before}::timestamptz)`;

/** Files of people, except of messages that are not finished or whose dead letter is open. */
const RECEIVED_FILES: DeleteBatch = (before, batch) => sql`
    DELETE FROM message_file WHERE message_id IN (
      SELECT f.message_id FROM message_file f JOIN message m ON m.id = f.message_id
      WHERE f.stored_at < ${before}::timestamptz AND m.state <> 'received'
        AND (m.state <> 'dead' OR NOT EXISTS (
          SELECT 1 FROM dead_letter d WHERE d.chat_id = m.chat_id AND d.message_id = m.id))
      ORDER BY f.stored_at LIMIT ${batch})`;

/** Ended questions to people. */
const QUESTIONS: DeleteBatch = (before, batch) => sql`
    DELETE FROM person_question WHERE id IN (
      SELECT id FROM person_question WHERE state IN ('answered', 'closed')
        AND deadline_at < ${before}::timestamptz LIMIT ${batch})`;

/** DBOS keeps a workflow's input, output and steps in tables without a foreign key. */
const WORKFLOW_PARTS: readonly DeleteBatch[] = [
  () => sql`DELETE FROM dbos.workflow_input WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)`,
  () => sql`DELETE FROM dbos.workflow_output WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)`,
  () => sql`DELETE FROM dbos.operation_outputs WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)`,
];

/**
 * The tables of messages, keys, nodes and durable work. Unfinished rows stay: unanswered messages, replies that WhatsApp has
 * not acknowledged, messages and replies of open dead letters, stanzas whose message the inbox does not have, running tasks,
 * keys in use. Dead letters are first: while one exists, its message and its reply are kept.
 */
export const coreRetention: RetentionRules = {
  batches: {
    deadLetters: (before, batch) => sql`
      DELETE FROM dead_letter WHERE id IN (
        SELECT id FROM dead_letter WHERE failed_at < ${before}::timestamptz ORDER BY failed_at LIMIT ${batch}) RETURNING 1`,
    // The row stays, to recognize a message that WhatsApp delivers again. A dead one can be replayed while its dead letter exists.
    text: (before, batch) => sql`
      UPDATE message SET text = '', quoted_text = NULL, mentions = NULL, details = NULL, trace = NULL, media = NULL, media_ref = NULL, secret = NULL WHERE id IN (
        SELECT m.id FROM message m
        WHERE m.state <> 'received' AND (m.text <> '' OR m.trace IS NOT NULL OR m.media IS NOT NULL OR m.secret IS NOT NULL)
          AND m.finished_at < ${before}::timestamptz
          AND (m.state <> 'dead' OR NOT EXISTS (
            SELECT 1 FROM dead_letter d WHERE d.chat_id = m.chat_id AND d.message_id = m.id))
        ORDER BY m.finished_at LIMIT ${batch} FOR UPDATE SKIP LOCKED)
        AND state <> 'received' RETURNING 1`,
    outbox: (before, batch) => sql`
      DELETE FROM outbox WHERE id IN (
        SELECT id FROM outbox WHERE state IN ('acked', 'delivered', 'read') AND acked_at < ${before}::timestamptz
        UNION ALL
        SELECT id FROM outbox WHERE state = 'draft' AND queued_at < ${before}::timestamptz
        UNION ALL
        SELECT o.id FROM outbox o WHERE o.state = 'dead' AND o.queued_at < ${before}::timestamptz
          AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.chat_id = o.chat_id AND d.outbox_id = o.id)
        LIMIT ${batch})
        AND state IN ('draft', 'acked', 'delivered', 'read', 'dead') RETURNING 1`,
    // The row stays, with the uploaded form: a phone may request the message again.
    files: (before, batch) => sql`
      UPDATE outbox_file SET bytes = NULL, store = NULL, location = NULL WHERE outbox_id IN (
        SELECT f.outbox_id FROM outbox_file f JOIN outbox o ON o.id = f.outbox_id
        WHERE o.state IN ('acked', 'delivered', 'read') AND o.acked_at < ${before}::timestamptz
          AND (f.bytes IS NOT NULL OR f.location IS NOT NULL)
        LIMIT ${batch} FOR UPDATE OF f SKIP LOCKED) RETURNING 1`,
    exchanges: (before, batch) => sql`${DELETE_EXCHANGES(before, batch)} RETURNING 1`,
    workflows: (before, batch) => sql`
      DELETE FROM dbos.workflow_status WHERE workflow_uuid IN (
        SELECT workflow_uuid FROM dbos.workflow_status
        WHERE created_at < ${before.getTime()}::bigint
          AND status IN ('SUCCESS', 'ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED')
        ORDER BY created_at LIMIT ${batch}) RETURNING workflow_uuid`,
    journal: (before, batch) => sql`
      DELETE FROM journal WHERE (account_id, ciphertext_hash) IN (
        SELECT j.account_id, j.ciphertext_hash FROM journal j
        WHERE j.received_at < ${before}::timestamptz AND EXISTS (
          SELECT 1 FROM message m WHERE m.account_id = j.account_id AND m.wa_message_id = j.wa_message_id)
        LIMIT ${batch}) RETURNING 1`,
    oldKeys: (before, batch) => sql`
      DELETE FROM auth_key WHERE (account_id, generation, category, key_id) IN (
        SELECT k.account_id, k.generation, k.category, k.key_id
        FROM account a JOIN auth_key k ON k.account_id = a.id AND k.generation < a.auth_generation
        WHERE a.generation_at < ${before}::timestamptz LIMIT ${batch}) RETURNING 1`,
  },
  with: {
    text: [DELETE_EXCHANGES, QUESTIONS, RECEIVED_FILES],
    files: [RECEIVED_FILES],
    workflows: WORKFLOW_PARTS,
  },
  // The tables of durable work exist from the first task on.
  needs: { workflows: 'dbos.workflow_status' },
  always: [forgetGoneNodes, forgetReplyTokens, forgetNumberChecks, forgetRepeatedCalls],
};

const DAY_MS = 86_400_000;
/** Rows of one statement: few enough to delay nothing else. */
const BATCH = 500;
/** Statements of one kind in one run; the next run continues. */
const MAX_BATCHES = 200;
/** Between two statements, so that messages have priority. */
const PAUSE_MS = 50;
const FIRST_RUN_AFTER_MS = 60_000;
const RUN_EVERY_MS = 600_000;

/** A kind of finished data. */
type RetentionKind = keyof RetentionDays;

/** A statement that deletes (or empties) at most `batch` rows that ended before `before`. */
type DeleteBatch = (before: Date, batch: number) => Sql;

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
  /** How long each kind is kept now. */
  limits(): RetentionDays;
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
    const { rules, clock, log, postgres } = this.#deps;
    const limits = this.#deps.limits();
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
