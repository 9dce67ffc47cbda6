import sql from 'sql-template-tag';
import type { Phrase } from '../../core/phrases.ts';
import type { Postgres } from '../../infra/db/postgres.ts';
import { type Columns, withoutNulls } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** What a webhook can get. */
export const WEBHOOK_EVENTS = ['message', 'reply', 'delivery', 'account-state', 'dead-letter'] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface NewWebhook {
  id: string;
  url: string;
  events: readonly WebhookEvent[];
  /** Only events of this account; absent: of every account. */
  accountId?: string;
  /** Key of the signature. */
  secret: string;
  enabled: boolean;
}

/** A stored webhook, without its secret. */
export interface Webhook extends Omit<NewWebhook, 'secret'> {
  /** Why wa2ai switched it off. */
  disabledReason?: string;
  disabledPhrase?: Phrase;
  /** Attempts that failed since the last one that succeeded. */
  failures: number;
  failingSince?: Date;
  /** No event is sent before, because the receiver failed often or asked for it. Absent: it does not pause, or is off. */
  pausedUntil?: Date;
  /** Events that are neither delivered nor dead. */
  waiting: number;
  createdAt: Date;
  updatedAt: Date;
}

/** What changes; `accountId: null` means every account from then on. */
export interface WebhookChange extends Partial<Omit<NewWebhook, 'id' | 'accountId'>> {
  accountId?: string | null;
}

/** Where events are sent. From the first webhook on, events are stored with what they report. */
export interface Webhooks {
  /**
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {StorageRejectedError} the id exists
   */
  create(webhook: NewWebhook): Promise<Webhook>;
  /** Oldest first. @throws {StorageUnavailableError} */
  list(): Promise<Webhook[]>;
  /** @throws {StorageUnavailableError} */
  get(id: string): Promise<Webhook | undefined>;
  /** @throws {StorageUnavailableError} @throws {StorageDamagedError} the secret cannot be decrypted */
  secretOf(id: string): Promise<string | undefined>;
  /**
   * Any change ends a pause, and switching it on forgets its failures.
   * @param check gets the webhook as it is, in the transaction of the change; what it throws is thrown, and nothing is changed
   * @returns undefined: there is no such webhook
   * @throws {StorageUnavailableError} nothing was changed
   */
  change(id: string, change: WebhookChange, check?: WebhookCheck): Promise<Webhook | undefined>;
  /** Deletes it with its deliveries. @param check as of `change` @returns whether there was one @throws {StorageUnavailableError} */
  delete(id: string, check?: WebhookCheck): Promise<boolean>;
}

type WebhookCheck = (webhook: Webhook) => void;

const COLUMNS = sql`id, url, events, account_id AS "accountId", is_enabled AS "enabled",
  disabled_reason AS "disabledReason",
  CASE WHEN disabled_reason IS NOT NULL THEN disabled_phrase END AS "disabledPhrase", failures, failing_since AS "failingSince",
  CASE WHEN is_enabled AND retry_at > now() THEN retry_at END AS "pausedUntil",
  (SELECT count(*)::integer FROM webhook_delivery d WHERE d.webhook_id = webhook.id AND d.state = 'pending') AS waiting,
  created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Context of the encrypted keys of signatures; it never changes. */
export const WEBHOOK_SECRET_CONTEXT = 'webhook.secret';

/** What events are about. */
const WATCHED_TABLES = ['message', 'outbox', 'dead_letter', 'account'];

/** Webhooks in PostgreSQL. The secret is encrypted. */
export class PostgresWebhooks implements Webhooks {
  readonly #postgres: Pick<Postgres, 'query' | 'execute' | 'transaction' | 'secrets'>;

  constructor(postgres: Pick<Postgres, 'query' | 'execute' | 'transaction' | 'secrets'>) {
    this.#postgres = postgres;
  }

  /** The first one creates the triggers that store events (prisma/functions/webhooks.sql). */
  async create({ id, url, events, accountId, secret, enabled }: NewWebhook): Promise<Webhook> {
    const [row] = await withStorage('storing a webhook', async () => {
      for (const table of WATCHED_TABLES) {
        await this.#postgres.query(sql`SELECT webhook_watch(${table})`);
      }
      return this.#postgres.query<Columns<Webhook>>(sql`
        INSERT INTO webhook (id, url, events, account_id, secret, is_enabled)
        VALUES (${id}, ${url}, ${[...events]}::text[], ${accountId ?? null}, ${this.#sealed(secret)}, ${enabled})
        RETURNING ${COLUMNS}`);
    });
    if (!row) throw new Error('a stored webhook has no row');
    return withoutNulls(row);
  }

  async list(): Promise<Webhook[]> {
    const rows = await withStorage('reading webhooks', () =>
      this.#postgres.query<Columns<Webhook>>(sql`SELECT ${COLUMNS} FROM webhook ORDER BY created_at, id`),
    );
    return rows.map(withoutNulls);
  }

  async get(id: string): Promise<Webhook | undefined> {
    const [row] = await withStorage('reading a webhook', () =>
      this.#postgres.query<Columns<Webhook>>(sql`SELECT ${COLUMNS} FROM webhook WHERE id = ${id}`),
    );
    return row && withoutNulls(row);
  }

  async secretOf(id: string): Promise<string | undefined> {
    const [row] = await withStorage('reading the secret of a webhook', () =>
      this.#postgres.query<{ secret: string }>(sql`SELECT secret FROM webhook WHERE id = ${id}`),
    );
    return row && this.#postgres.secrets.openText(row.secret, WEBHOOK_SECRET_CONTEXT);
  }

  async change(
    id: string,
    { url, events, accountId, secret, enabled }: WebhookChange,
    check?: WebhookCheck,
  ): Promise<Webhook | undefined> {
    const [row] = await this.#checked('changing a webhook', id, check, (transaction) =>
      transaction.query<Columns<Webhook>>(sql`
        UPDATE webhook SET url = coalesce(${url ?? null}, url),
          events = coalesce(${events ? [...events] : null}::text[], events),
          account_id = CASE WHEN ${accountId !== undefined} THEN ${accountId ?? null} ELSE account_id END,
          secret = coalesce(${secret === undefined ? null : this.#sealed(secret)}, secret),
          is_enabled = coalesce(${enabled ?? null}::boolean, is_enabled),
          disabled_reason = CASE WHEN ${enabled === undefined} THEN disabled_reason END,
          failures = CASE WHEN ${enabled === true} THEN 0 ELSE failures END,
          failing_since = CASE WHEN ${enabled === true} THEN NULL ELSE failing_since END,
          retry_at = NULL, updated_at = now()
        WHERE id = ${id} RETURNING ${COLUMNS}`),
    );
    return row && withoutNulls(row);
  }

  async delete(id: string, check?: WebhookCheck): Promise<boolean> {
    return this.#checked('deleting a webhook', id, check, async (transaction) => {
      const gone = await transaction.query(sql`DELETE FROM webhook WHERE id = ${id} RETURNING 1`);
      await transaction.query(sql`DELETE FROM webhook_delivery WHERE webhook_id = ${id} RETURNING 1`);
      return gone.length > 0;
    });
  }

  /** Changes a webhook in a transaction, after the check of what it is. */
  #checked<Result>(
    what: string,
    id: string,
    check: WebhookCheck | undefined,
    change: (transaction: Pick<Postgres, 'query'>) => Promise<Result>,
  ): Promise<Result> {
    return withStorage(what, () =>
      this.#postgres.transaction(async (transaction) => {
        const [row] = check
          ? await transaction.query<Columns<Webhook>>(
              sql`SELECT ${COLUMNS} FROM webhook WHERE id = ${id} FOR UPDATE`,
            )
          : [];
        if (row) check?.(withoutNulls(row));
        return change(transaction);
      }),
    );
  }

  #sealed(secret: string): string {
    return this.#postgres.secrets.sealText(secret, WEBHOOK_SECRET_CONTEXT);
  }
}
