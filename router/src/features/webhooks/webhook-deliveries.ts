import sql from 'sql-template-tag';
import type { Phrase } from '../../core/phrases.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { allOf, olderThan, together } from '../../infra/db/stores/log-conditions.ts';
import { type Columns, rowId, storableJson, withoutNulls } from '../../infra/db/stores/rows.ts';
import { StorageDamagedError, withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { WebhookEvent } from './webhooks.ts';
import { WEBHOOK_SECRET_CONTEXT } from './webhooks.ts';

/** What an event reports, as it was stored with it. */
export type EventFacts = Record<string, unknown>;

/** An event with its receiver, claimed by this node for one attempt. */
export interface DueDelivery {
  id: string;
  webhookId: string;
  url: string;
  /** Key of the signature; absent: it cannot be decrypted. */
  secret?: string;
  /** The same in every attempt, and for every webhook that gets the event. */
  eventId: string;
  event: WebhookEvent;
  accountId: string;
  /** When it happened. */
  at: Date;
  facts: EventFacts;
  /** Of this attempt, from 1. */
  attempt: number;
  /** Since the event was queued. */
  ageMs: number;
  /** Attempts of the webhook that failed since the last one that succeeded, and for how long it has failed. */
  failures: number;
  failingForMs: number;
}

/** An event in the log of a webhook: no text of people. */
export interface LoggedDelivery {
  id: string;
  eventId: string;
  event: WebhookEvent;
  accountId: string;
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  /** HTTP status of the last answer. */
  status?: number;
  error?: string;
  phrase?: Phrase;
  createdAt: Date;
  attemptedAt?: Date;
  /** When it is sent next, at the earliest. Absent while an earlier event of the chat waits, or the webhook is off. */
  dueAt?: Date;
  /** The earlier event of the chat that is sent first. */
  waitsFor?: string;
  finishedAt?: Date;
}

export interface DeliveryQuery {
  webhookId: string;
  state?: LoggedDelivery['state'];
  /** Only deliveries with a smaller id. */
  before?: string;
  limit: number;
}

/** What an attempt that failed changes. */
export interface FailedAttempt {
  status?: number;
  /** A sentence for an operator, and its phrase. */
  error: string;
  phrase?: Phrase;
  /** The next attempt; absent: the event is dead. */
  retryInMs?: number;
  /** The webhook makes no attempt for so long. */
  pauseMs?: number;
  /** The webhook is switched off for this reason. */
  disabledReason?: string;
  disabledPhrase?: Phrase;
}

/** Events of webhooks, and what became of them. @throws {StorageUnavailableError} from every method: nothing was changed */
export interface WebhookDeliveries {
  /** Whether any webhook is enabled. */
  isNeeded(): Promise<boolean>;
  /**
   * Claims events that are due, for `forMs`: no other node gets them meanwhile, and after a crash they are due again. At most
   * one event of each webhook and chat, the oldest one that is not finished.
   * @param perWebhook most events of one webhook that this node sends at a time
   * @param busy how many this node sends now, by webhook
   */
  claim(perWebhook: number, busy: ReadonlyMap<string, number>, forMs: number): Promise<DueDelivery[]>;
  /** Removes the facts of the event. Without effect if the claim is lost. */
  markDelivered(delivery: DueDelivery, status: number): Promise<void>;
  /** Without effect if the claim is lost. */
  markFailed(delivery: DueDelivery, failed: FailedAttempt): Promise<void>;
  /** Newest first. */
  list(query: DeliveryQuery): Promise<LoggedDelivery[]>;
  /** Queues a dead event again, with its id. `not-dead`: it is delivered, or waits for its next attempt. */
  retry(webhookId: string, id: string): Promise<'queued' | 'not-dead' | 'missing'>;
}

/** The columns have whole milliseconds: what is due now may be stored as due half a millisecond later. */
const ROUNDING = sql`interval '1 millisecond'`;

/** Events of webhooks in PostgreSQL. Times are the database's. */
export class PostgresWebhookDeliveries implements WebhookDeliveries {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  async isNeeded(): Promise<boolean> {
    const [row] = await withStorage('looking for webhooks', () =>
      this.#postgres.query<{ needed: boolean }>(sql`
        SELECT EXISTS (SELECT 1 FROM webhook WHERE is_enabled) AS needed`),
    );
    return row?.needed ?? false;
  }

  async claim(perWebhook: number, busy: ReadonlyMap<string, number>, forMs: number): Promise<DueDelivery[]> {
    const rows = await withStorage('claiming events of webhooks', () =>
      this.#postgres.query<DueDelivery & { secret: string }>(sql`
        WITH due AS (
          SELECT d.id, w.url, w.secret, w.failures, w.failing_since FROM webhook w
          LEFT JOIN unnest(${[...busy.keys()]}::text[], ${[...busy.values()]}::integer[]) AS b (webhook_id, count)
            ON b.webhook_id = w.id
          CROSS JOIN LATERAL (
            SELECT e.id FROM webhook_delivery e
            WHERE e.webhook_id = w.id AND e.state = 'pending' AND e.due_at <= now() + ${ROUNDING} AND NOT EXISTS (
              SELECT 1 FROM webhook_delivery o
              WHERE o.webhook_id = e.webhook_id AND o.account_id = e.account_id AND o.chat_id = e.chat_id
                AND o.state = 'pending' AND o.id < e.id)
            ORDER BY e.id LIMIT greatest(${perWebhook}::integer - coalesce(b.count, 0), 0)
            FOR UPDATE SKIP LOCKED) AS d
          WHERE w.is_enabled AND (w.retry_at IS NULL OR w.retry_at <= now())
        )
        UPDATE webhook_delivery d SET attempts = d.attempts + 1, attempted_at = now(),
          due_at = now() + ${forMs}::integer * interval '1 millisecond'
        FROM due WHERE d.id = due.id
        RETURNING d.id::text, d.webhook_id AS "webhookId", due.url, due.secret, d.event_id AS "eventId", d.event,
          d.account_id AS "accountId", d.created_at AS at, coalesce(d.facts, '{}') AS facts, d.attempts AS attempt,
          (extract(epoch FROM now() - d.queued_at) * 1000)::float8 AS "ageMs", due.failures,
          coalesce(extract(epoch FROM now() - due.failing_since) * 1000, 0)::float8 AS "failingForMs"`),
    );
    return rows.map(({ secret: sealed, ...row }) => {
      const secret = this.#opened(sealed);
      return { ...row, ...(secret !== undefined && { secret }) };
    });
  }

  #opened(sealed: string): string | undefined {
    try {
      return this.#postgres.secrets.openText(sealed, WEBHOOK_SECRET_CONTEXT);
    } catch (error) {
      if (error instanceof StorageDamagedError) return undefined;
      throw error;
    }
  }

  async markDelivered({ id, attempt, webhookId }: DueDelivery, status: number): Promise<void> {
    const recovered = await withStorage('recording a delivered event', () =>
      this.#postgres.query(sql`
        WITH done AS (
          UPDATE webhook_delivery SET state = 'delivered', facts = NULL, status = ${status}::integer, error = NULL,
            finished_at = now()
          WHERE id = ${id}::bigint AND attempts = ${attempt}::integer AND state = 'pending' RETURNING 1
        )
        UPDATE webhook SET failures = 0, failing_since = NULL, retry_at = NULL FROM done
        WHERE id = ${webhookId} AND failures > 0 RETURNING 1`),
    );
    if (recovered.length > 0) this.#report(webhookId, 'recovered');
  }

  async markFailed({ id, attempt, webhookId }: DueDelivery, failed: FailedAttempt): Promise<void> {
    const { status = null, error, phrase, retryInMs, pauseMs, disabledReason, disabledPhrase } = failed;
    await withStorage('recording a failed attempt of a webhook', () =>
      this.#postgres.execute(sql`
        WITH failed AS (
          UPDATE webhook_delivery SET status = ${status}::integer, error = ${error},
            phrase = ${storableJson(phrase)}::jsonb,
            state = CASE WHEN ${retryInMs === undefined} THEN 'dead' ELSE state END,
            finished_at = CASE WHEN ${retryInMs === undefined} THEN now() END,
            due_at = now() + ${Math.round(retryInMs ?? 0)}::bigint * interval '1 millisecond'
          WHERE id = ${id}::bigint AND attempts = ${attempt}::integer AND state = 'pending' RETURNING 1
        )
        UPDATE webhook SET failures = failures + 1, failing_since = coalesce(failing_since, now()),
          retry_at = now() + ${pauseMs === undefined ? null : Math.round(pauseMs)}::bigint * interval '1 millisecond'
        FROM failed WHERE id = ${webhookId}`),
    );
    this.#report(webhookId, 'failed');
    if (disabledReason === undefined) return;
    await withStorage('disabling a webhook', () =>
      this.#postgres.execute(sql`
        UPDATE webhook SET is_enabled = false, disabled_reason = ${disabledReason},
          disabled_phrase = ${storableJson(disabledPhrase)}::jsonb, updated_at = now()
        WHERE id = ${webhookId} AND is_enabled`),
    );
  }

  #report(id: string, change: 'failed' | 'recovered'): void {
    this.#postgres.changes.report({ type: 'webhook', id, change });
  }

  async list({ webhookId, state, before, limit }: DeliveryQuery): Promise<LoggedDelivery[]> {
    const conditions = together(
      [sql`d.webhook_id = ${webhookId}`],
      state === undefined ? [] : [sql`d.state = ${state}`],
      olderThan(sql`d.id`, before),
    );
    if (conditions === 'none') return [];
    const rows = await withStorage('reading events of a webhook', () =>
      this.#postgres.query<Columns<LoggedDelivery>>(sql`
        SELECT d.id::text, d.event_id AS "eventId", d.event, d.account_id AS "accountId", d.state, d.attempts, d.status,
          d.error, CASE WHEN d.error IS NOT NULL THEN d.phrase END AS phrase, d.created_at AS "createdAt", d.attempted_at AS "attemptedAt", d.finished_at AS "finishedAt",
          first.id::text AS "waitsFor",
          CASE WHEN d.state = 'pending' AND first.id IS NULL AND w.is_enabled
            THEN greatest(d.due_at, w.retry_at) END AS "dueAt"
        FROM webhook_delivery d JOIN webhook w ON w.id = d.webhook_id
        LEFT JOIN LATERAL (
          SELECT o.id FROM webhook_delivery o
          WHERE d.state = 'pending' AND o.webhook_id = d.webhook_id AND o.account_id = d.account_id
            AND o.chat_id = d.chat_id AND o.state = 'pending' AND o.id < d.id
          ORDER BY o.id LIMIT 1) AS first ON true
        WHERE ${allOf(conditions)} ORDER BY d.id DESC LIMIT ${limit}::integer`),
    );
    return rows.map(withoutNulls);
  }

  async retry(webhookId: string, id: string): Promise<'queued' | 'not-dead' | 'missing'> {
    const key = rowId(id);
    if (key === undefined) return 'missing';
    const [row] = await withStorage('queueing an event of a webhook again', () =>
      this.#postgres.query<{ queued: boolean }>(sql`
        WITH queued AS (
          UPDATE webhook_delivery SET state = 'pending', attempts = 0, due_at = now(), queued_at = now(), finished_at = NULL
          WHERE id = ${key}::bigint AND webhook_id = ${webhookId} AND state = 'dead' RETURNING 1
        )
        SELECT EXISTS (SELECT 1 FROM queued) AS queued FROM webhook_delivery
        WHERE id = ${key}::bigint AND webhook_id = ${webhookId}`),
    );
    if (!row) return 'missing';
    return row.queued ? 'queued' : 'not-dead';
  }
}
