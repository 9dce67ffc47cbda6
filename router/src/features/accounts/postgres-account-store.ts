import sql, { empty } from 'sql-template-tag';
import type { Reason } from '../../core/phrases.ts';
import type {
  AccountLimit,
  AccountRecord,
  AccountStateChange,
  AccountStore,
  LimitKind,
} from '../../core/ports/account-store.ts';
import type { Fence } from '../../core/ports/cluster.ts';
import { cleanText } from '../../core/text.ts';
import { accountProxyContext } from '../../infra/db/encryption/secret-cipher.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { fenceOf, type HeldRow, underFence } from '../../infra/db/stores/postgres-account-lease.ts';
import { type Columns, storableOrNull, withoutNulls } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** State changes of one account that are kept. */
const KEPT_CHANGES = 500;

/** WhatsApp accounts in PostgreSQL. */
export class PostgresAccountStore implements AccountStore {
  readonly #postgres: Statements;
  readonly #fence: Fence | undefined;

  /** @param fence the lease that every change is made under; without one they are not fenced */
  constructor(postgres: Statements, fence?: Fence) {
    this.#postgres = postgres;
    this.#fence = fence;
  }

  async load(accountId: string): Promise<AccountRecord> {
    const [row] = await withStorage('reading a WhatsApp account', () =>
      this.#postgres.query<Columns<AccountRecord>>(sql`
        SELECT state, auth_generation AS generation, reason, ${PHRASE}, phone, lid, push_name AS "pushName"
        FROM account WHERE id = ${accountId}`),
    );
    return row ? withoutNulls(row) : { state: 'starting', generation: 1 };
  }

  async save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing a WhatsApp account', () =>
      this.#postgres.query<HeldRow>(sql`
        WITH held AS MATERIALIZED (SELECT * FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)), changed AS (
          INSERT INTO account_state_change (account_id, state, reason, said, node)
          SELECT ${accountId}, ${record.state}, ${storableOrNull(record.reason)}, ${saidOf(record)}::jsonb, ${owner ?? ''}
          FROM held LEFT JOIN account a ON a.id = ${accountId}
          WHERE (a.state, a.reason) IS DISTINCT FROM (${record.state}, ${storableOrNull(record.reason)})
        )
        INSERT INTO account (id, state, reason, said, phone, lid, push_name, updated_at)
        SELECT ${accountId}, ${record.state}, ${storableOrNull(record.reason)}, ${saidOf(record)}::jsonb, ${storableOrNull(record.phone)},
               ${storableOrNull(record.lid)}, ${storableOrNull(record.pushName)}, now()
        FROM held
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, said = excluded.said, phone = excluded.phone,
          lid = excluded.lid, push_name = excluded.push_name, updated_at = excluded.updated_at
        RETURNING 1 AS held`),
    );
  }

  async stateChanges(
    accountId: string,
    { limit, before }: { limit: number; before?: string },
  ): Promise<AccountStateChange[]> {
    const rows = await withStorage('reading the states of a WhatsApp account', () =>
      this.#postgres.query<Columns<AccountStateChange>>(sql`
        SELECT id::text, state, reason, ${PHRASE}, node, at FROM account_state_change
        WHERE account_id = ${accountId} ${before === undefined ? empty : sql`AND id < ${before}::bigint`}
        ORDER BY account_state_change.id DESC LIMIT ${limit}::integer`),
    );
    return rows.map((row) => withoutNulls(row));
  }

  async nextGeneration(accountId: string): Promise<number> {
    const { owner, epoch } = fenceOf(this.#fence);
    const row = await underFence(this.#fence, 'starting new keys of a WhatsApp account', () =>
      this.#postgres.query<HeldRow & { generation: number }>(sql`
        INSERT INTO account (id, auth_generation, updated_at)
        SELECT ${accountId}, 2, now() FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)
        ON CONFLICT (id) DO UPDATE SET auth_generation = account.auth_generation + 1,
          generation_at = now(), updated_at = now()
        RETURNING 1 AS held, auth_generation AS generation`),
    );
    return row.generation;
  }

  async limits(accountId: string): Promise<AccountLimit[]> {
    return withStorage('reading the limits of a WhatsApp account', () =>
      this.#postgres.query<Columns<AccountLimit>>(sql`
        SELECT kind, reason, ${PHRASE},
          (extract(epoch FROM until - greatest(since, clock_timestamp())) * 1000)::float8 AS "forMs"
        FROM account_limit WHERE account_id = ${accountId} AND until > clock_timestamp() ORDER BY kind`),
    ).then((rows) => rows.map((row) => withoutNulls(row)));
  }

  async beginLimit(accountId: string, limit: AccountLimit): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing a limit of a WhatsApp account', () =>
      this.#postgres.query<HeldRow>(sql`
        INSERT INTO account_limit (account_id, kind, reason, said, since, until)
        SELECT ${accountId}, ${limit.kind}, ${cleanText(limit.reason)}, ${saidOf(limit)}::jsonb, clock_timestamp(),
               clock_timestamp() + ${Math.round(limit.forMs)}::bigint * interval '1 millisecond'
        FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)
        ON CONFLICT (account_id, kind) DO UPDATE SET reason = excluded.reason, said = excluded.said, since = excluded.since,
          until = excluded.until
        RETURNING 1 AS held`),
    );
  }

  async endLimit(accountId: string, kind: LimitKind): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'ending a limit of a WhatsApp account', () =>
      this.#postgres.query<HeldRow>(sql`
        WITH held AS MATERIALIZED (SELECT * FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)), gone AS (
          DELETE FROM account_limit USING held WHERE account_id = ${accountId} AND kind = ${kind}
        )
        SELECT count(*)::integer AS held FROM held`),
    );
  }
}

/** The phrase of the reason; none when an earlier version has replaced the reason only. */
const PHRASE = sql`CASE WHEN said ->> 'reason' = reason THEN said -> 'phrase' END AS phrase`;

/** The phrase as it is stored: with its reason. */
function saidOf({ reason, phrase }: Partial<Reason>): string | null {
  return phrase ? JSON.stringify({ reason, phrase }) : null;
}

/** Removes the state changes of each account but the newest ones. @throws {StorageUnavailableError} */
export async function forgetOldStateChanges(postgres: Pick<Statements, 'execute'>): Promise<void> {
  await withStorage('removing old states of WhatsApp accounts', () =>
    postgres.execute(sql`
      DELETE FROM account_state_change c USING account a
      WHERE c.account_id = a.id AND c.id <= (
        SELECT k.id FROM account_state_change k WHERE k.account_id = a.id
        ORDER BY k.id DESC OFFSET ${KEPT_CHANGES} LIMIT 1)`),
  );
}

/** The proxies of WhatsApp accounts in PostgreSQL: their URLs, encrypted because of user name and password. */
export class PostgresAccountProxies {
  readonly #postgres: Pick<Statements, 'query' | 'execute' | 'secrets'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute' | 'secrets'>) {
    this.#postgres = postgres;
  }

  /**
   * The URL of an account's proxy; undefined: it has none.
   * @throws {StorageUnavailableError} · {StorageDamagedError} it cannot be decrypted
   */
  async urlOf(accountId: string): Promise<string | undefined> {
    const [row] = await withStorage('reading the proxy of a WhatsApp account', () =>
      this.#postgres.query<{ proxy: string | null }>(sql`SELECT proxy FROM account WHERE id = ${accountId}`),
    );
    const stored = row?.proxy;
    return stored ? this.#postgres.secrets.openText(stored, accountProxyContext(accountId)) : undefined;
  }

  /** @param url undefined: no proxy @returns whether there is such an account */
  async set(accountId: string, url: string | undefined): Promise<boolean> {
    const sealed =
      url === undefined ? null : this.#postgres.secrets.sealText(url, accountProxyContext(accountId));
    const changed = await withStorage('storing the proxy of a WhatsApp account', () =>
      this.#postgres.execute(sql`
        UPDATE account SET proxy = ${sealed} WHERE id = ${accountId} AND provider = 'baileys' AND deleting_at IS NULL`),
    );
    return changed > 0;
  }

  /** The WhatsApp accounts by id, and whether they have a proxy. @throws {StorageUnavailableError} */
  async list(): Promise<Array<{ accountId: string; hasProxy: boolean }>> {
    return withStorage('reading which WhatsApp accounts have a proxy', () =>
      this.#postgres.query(sql`
        SELECT id AS "accountId", proxy IS NOT NULL AS "hasProxy" FROM account
        WHERE provider = 'baileys' AND deleting_at IS NULL ORDER BY id`),
    );
  }
}
