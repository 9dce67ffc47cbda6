import sql, { empty, type Sql } from 'sql-template-tag';
import type { RetentionDays } from '../config/config.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Logger } from '../core/ports/logger.ts';
import { forgetLoginAttempts } from '../features/access/login-attempts.ts';
import { forgetOldStateChanges } from '../features/accounts/postgres-account-store.ts';
import { forgetOldStats } from '../features/stats/postgres-stats.ts';
import type { Postgres } from '../infra/db/postgres.ts';
import { forgetGoneNodes } from '../infra/db/stores/postgres-cluster.ts';
import { forgetNumberChecks } from '../infra/db/stores/postgres-outbox.ts';
import { forgetReplyTokens } from '../infra/db/stores/postgres-reply-tokens.ts';
import { withStorage } from '../infra/db/stores/storage-errors.ts';
import type { FileUpkeep } from '../infra/db/upkeep/file-upkeep.ts';

const DAY_MS = 86_400_000;
/** Rows of one statement: few enough to delay nothing else. */
const BATCH = 500;
/** Statements of one kind in one run; the next run continues. */
const MAX_BATCHES = 200;
/** Between two statements, so that messages have priority. */
const PAUSE_MS = 50;
const FIRST_RUN_AFTER_MS = 60_000;
const RUN_EVERY_MS = 600_000;

export type RetentionKind = keyof RetentionDays;

export interface RetentionDeps {
  postgres: Postgres;
  limits: RetentionDays;
  /** Removes files of stores that no row names. */
  fileUpkeep?: Pick<FileUpkeep, 'run'>;
  clock: Clock;
  log: Logger;
}

/** By message, which is about by age: a row of a message that was replayed later waits for its own age. */
const DELETE_EXCHANGES = (before: Date) => sql`
    DELETE FROM agent_exchange WHERE (message_id, id) IN (
      SELECT message_id, id FROM (
        SELECT message_id, id, stored_at FROM agent_exchange ORDER BY message_id, id LIMIT ${BATCH}) AS oldest
      WHERE stored_at < ${before}::timestamptz)`;

/**
 * One batch of each kind: a statement that returns its rows as `gone`. Rows before `before` are removed, except
 * unfinished ones: unanswered messages, replies that WhatsApp has not acknowledged, messages and replies of open dead
 * letters, stanzas whose message the inbox does not have, running tasks, keys in use.
 */
const BATCHES: Record<RetentionKind, (before: Date) => Sql> = {
  deadLetters: (before) => sql`
    DELETE FROM dead_letter WHERE id IN (
      SELECT id FROM dead_letter WHERE failed_at < ${before}::timestamptz ORDER BY failed_at LIMIT ${BATCH}) RETURNING 1`,
  // The row stays, to recognize a message that WhatsApp delivers again. A dead one can be replayed while its dead letter exists.
  text: (before) => sql`
    UPDATE message SET text = '', quoted_text = NULL, mentions = NULL, details = NULL, trace = NULL, media = NULL, media_ref = NULL, secret = NULL WHERE id IN (
      SELECT m.id FROM message m
      WHERE m.state <> 'received' AND (m.text <> '' OR m.trace IS NOT NULL OR m.media IS NOT NULL OR m.secret IS NOT NULL)
        AND m.finished_at < ${before}::timestamptz
        AND (m.state <> 'dead' OR NOT EXISTS (
          SELECT 1 FROM dead_letter d WHERE d.chat_id = m.chat_id AND d.message_id = m.id))
      ORDER BY m.finished_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
      AND state <> 'received' RETURNING 1`,
  outbox: (before) => sql`
    DELETE FROM outbox WHERE id IN (
      SELECT id FROM outbox WHERE state IN ('acked', 'delivered', 'read') AND acked_at < ${before}::timestamptz
      UNION ALL
      SELECT id FROM outbox WHERE state = 'draft' AND queued_at < ${before}::timestamptz
      UNION ALL
      SELECT o.id FROM outbox o WHERE o.state = 'dead' AND o.queued_at < ${before}::timestamptz
        AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.chat_id = o.chat_id AND d.outbox_id = o.id)
      LIMIT ${BATCH})
      AND state IN ('draft', 'acked', 'delivered', 'read', 'dead') RETURNING 1`,
  // The row stays, with the uploaded form: a phone may request the message again.
  files: (before) => sql`
    UPDATE outbox_file SET bytes = NULL, store = NULL, location = NULL WHERE outbox_id IN (
      SELECT f.outbox_id FROM outbox_file f JOIN outbox o ON o.id = f.outbox_id
      WHERE o.state IN ('acked', 'delivered', 'read') AND o.acked_at < ${before}::timestamptz
        AND (f.bytes IS NOT NULL OR f.location IS NOT NULL)
      LIMIT ${BATCH} FOR UPDATE OF f SKIP LOCKED) RETURNING 1`,
  exchanges: (before) => sql`${DELETE_EXCHANGES(before)} RETURNING 1`,
  workflows: (before) => sql`
    DELETE FROM dbos.workflow_status WHERE workflow_uuid IN (
      SELECT workflow_uuid FROM dbos.workflow_status
      WHERE created_at < ${before.getTime()}::bigint
        AND status IN ('SUCCESS', 'ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED')
      ORDER BY created_at LIMIT ${BATCH}) RETURNING workflow_uuid`,
  journal: (before) => sql`
    DELETE FROM journal WHERE (account_id, ciphertext_hash) IN (
      SELECT j.account_id, j.ciphertext_hash FROM journal j
      WHERE j.received_at < ${before}::timestamptz AND EXISTS (
        SELECT 1 FROM message m WHERE m.account_id = j.account_id AND m.wa_message_id = j.wa_message_id)
      LIMIT ${BATCH}) RETURNING 1`,
  oldKeys: (before) => sql`
    DELETE FROM auth_key WHERE (account_id, generation, category, key_id) IN (
      SELECT k.account_id, k.generation, k.category, k.key_id
      FROM account a JOIN auth_key k ON k.account_id = a.id AND k.generation < a.auth_generation
      WHERE a.generation_at < ${before}::timestamptz LIMIT ${BATCH}) RETURNING 1`,
  // Also events that wait, of a webhook that is switched off.
  webhooks: (before) => sql`
    DELETE FROM webhook_delivery WHERE id IN (
      SELECT id FROM webhook_delivery WHERE created_at < ${before}::timestamptz ORDER BY created_at LIMIT ${BATCH}) RETURNING 1`,
  // Only from the start of the chain on, up to the first entry that is kept: clocks of nodes may differ.
  audit: (before) => sql`
    DELETE FROM audit_entry WHERE seq <= (
      SELECT max(seq) FROM (
        SELECT seq, bool_and(at < ${before}::timestamptz) OVER (ORDER BY seq) AS is_old
        FROM (SELECT seq, at FROM audit_entry ORDER BY seq LIMIT ${BATCH}) AS oldest) AS start
      WHERE is_old) RETURNING seq, hash`,
};

/** Dead letters first: while one exists, its message and its reply are kept. */
const ORDER: RetentionKind[] = [
  'deadLetters',
  'text',
  'outbox',
  'files',
  'exchanges',
  'workflows',
  'journal',
  'oldKeys',
  'webhooks',
  'audit',
];

/** Files of people, except of messages that are not finished or whose dead letter is open. */
const RECEIVED_FILES = (before: Date) => sql`,
    received_files AS (DELETE FROM message_file WHERE message_id IN (
      SELECT f.message_id FROM message_file f JOIN message m ON m.id = f.message_id
      WHERE f.stored_at < ${before}::timestamptz AND m.state <> 'received'
        AND (m.state <> 'dead' OR NOT EXISTS (
          SELECT 1 FROM dead_letter d WHERE d.chat_id = m.chat_id AND d.message_id = m.id))
      ORDER BY f.stored_at LIMIT ${BATCH}))`;

/** What changes together with a batch, in the same statement. */
const DEPENDENT: Partial<Record<RetentionKind, (before: Date) => Sql>> = {
  files: RECEIVED_FILES,
  // The chain of the rest begins at the last entry that is gone.
  audit: () => sql`,
    anchored AS (UPDATE audit_chain SET anchor_seq = last.seq, anchor_hash = last.hash
      FROM (SELECT seq, hash FROM gone ORDER BY seq DESC LIMIT 1) AS last WHERE id = 1)`,
  // Events for webhooks that were not delivered; ids of ended tasks at agents, by which people ask for them; conversations at agents that nobody continued; exchanges with agents, which contain the texts; tasks for programs
  // with their texts, questions, and what the NPC face did and felt. The cursor of chain events is one row for each source.
  text: (before) => sql`,
    exchanges AS (${DELETE_EXCHANGES(before)}),
    events AS (DELETE FROM webhook_delivery WHERE id IN (
      SELECT id FROM webhook_delivery WHERE facts IS NOT NULL AND created_at < ${before}::timestamptz
      ORDER BY created_at LIMIT ${BATCH})),
    served AS (DELETE FROM served_task WHERE id IN (
      SELECT id FROM served_task WHERE state IN ('completed', 'failed', 'canceled', 'rejected', 'input-required')
        AND updated_at < ${before}::timestamptz ORDER BY updated_at LIMIT ${BATCH})),
    questions AS (DELETE FROM person_question WHERE id IN (
      SELECT id FROM person_question WHERE state IN ('answered', 'closed')
        AND deadline_at < ${before}::timestamptz LIMIT ${BATCH})),
    tasks AS (DELETE FROM remote_task WHERE id IN (
      SELECT id FROM remote_task WHERE state = 'ended' AND ended_at < ${before}::timestamptz ORDER BY id LIMIT ${BATCH})),
    sessions AS (DELETE FROM agent_session WHERE (account_id, route_id, session_id) IN (
      SELECT account_id, route_id, session_id FROM agent_session WHERE used_at < ${before}::timestamptz
      ORDER BY used_at LIMIT ${BATCH})),
    npc_tasks AS (DELETE FROM npc_task WHERE id IN (
      SELECT id FROM npc_task WHERE status IN ('completed', 'failed') AND updated_at < ${before}::timestamptz
      ORDER BY id LIMIT ${BATCH})),
    npc_emotions AS (DELETE FROM npc_emotion WHERE task_id IN (
      SELECT task_id FROM npc_emotion WHERE at < ${before}::timestamptz LIMIT ${BATCH})),
    npc_transactions AS (DELETE FROM npc_transaction WHERE task_id IN (
      SELECT task_id FROM npc_transaction WHERE settled_at < ${before}::timestamptz LIMIT ${BATCH})),
    npc_events AS (DELETE FROM npc_chain_event WHERE id IN (
      SELECT id FROM npc_chain_event WHERE stored_at < ${before}::timestamptz ORDER BY id LIMIT ${BATCH}))${RECEIVED_FILES(before)}`,
  // DBOS keeps a workflow's input, output and steps in tables without a foreign key.
  workflows: () => sql`,
    inputs AS (DELETE FROM dbos.workflow_input WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)),
    outputs AS (DELETE FROM dbos.workflow_output WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)),
    steps AS (DELETE FROM dbos.operation_outputs WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone))`,
};

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
   * One run over every kind that has a limit, the list of nodes, reply tokens that expired a week ago, attempts to sign in that no
   * longer count, old counts, old states of accounts, and old answers about numbers.
   * @returns rows removed (texts emptied) by kind, without kinds that failed or that another node works on
   * @throws {StorageUnavailableError} ended nodes, tokens, attempts, counts, states or answers could not be removed; the other rows are removed
   */
  async runOnce(): Promise<Partial<Record<RetentionKind, number>>> {
    const removed: Partial<Record<RetentionKind, number>> = {};
    for (const kind of ORDER) {
      const days = this.#deps.limits[kind];
      if (days === 0) continue;
      try {
        if (kind === 'workflows' && !(await this.#hasWorkflows())) continue;
        const rows = await this.#prune(kind, new Date(this.#deps.clock.now() - days * DAY_MS));
        if (rows !== undefined) removed[kind] = rows;
      } catch (error) {
        // A damaged or slow row must not keep rows of other kinds.
        if (this.#stopping.signal.aborted) throw error;
        this.#deps.log.warn({ err: error, kind }, 'cannot remove old rows, retrying in the next run');
      }
    }
    await forgetGoneNodes(this.#deps.postgres);
    await forgetReplyTokens(this.#deps.postgres);
    await forgetLoginAttempts(this.#deps.postgres);
    await forgetOldStats(this.#deps.postgres);
    await this.#deps.fileUpkeep?.run(this.#stopping.signal);
    await forgetOldStateChanges(this.#deps.postgres);
    await forgetNumberChecks(this.#deps.postgres);
    return removed;
  }

  /** The tables of durable tasks exist from the first task on. */
  async #hasWorkflows(): Promise<boolean> {
    const [row] = await this.#deps.postgres.query<{ has: boolean }>(sql`
      SELECT to_regclass('dbos.workflow_status') IS NOT NULL AS has`);
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

  async #prune(kind: RetentionKind, before: Date): Promise<number | undefined> {
    let removed = 0;
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const rows = await this.#pruneBatch(kind, before);
      if (rows === undefined) return batch === 0 ? undefined : removed;
      removed += rows;
      if (rows < BATCH) break;
      await this.#deps.clock.sleep(PAUSE_MS, this.#stopping.signal);
    }
    return removed;
  }

  /** @returns undefined if another node works on it */
  async #pruneBatch(kind: RetentionKind, before: Date): Promise<number | undefined> {
    const dependent = DEPENDENT[kind]?.(before) ?? empty;
    return withStorage('removing old rows', () =>
      this.#deps.postgres.transaction(async (transaction) => {
        const [lock] = await transaction.query<{ taken: boolean }>(sql`
          SELECT pg_try_advisory_xact_lock(hashtextextended('wa2ai retention', 0)) AS taken`);
        if (!lock?.taken) return undefined;
        const [result] = await transaction.query<{ rows: number }>(sql`
          WITH gone AS (${BATCHES[kind](before)})${dependent}
          SELECT count(*)::integer AS rows FROM gone`);
        return result?.rows ?? 0;
      }),
    );
  }
}
