import sql from 'sql-template-tag';
import type { AccountState } from '../../../core/models.ts';
import type { Fence } from '../../../core/ports/account-lease.ts';
import type {
  AccountLimit,
  AccountRecord,
  AccountStore,
  LimitKind,
} from '../../../core/ports/account-store.ts';
import type { Statements } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './fence.ts';
import { storableOrNull, storableText } from './storable-text.ts';
import { withStorage } from './storage-errors.ts';

interface AccountRow {
  state: AccountState;
  auth_generation: number;
  reason: string | null;
  phone: string | null;
  lid: string | null;
  push_name: string | null;
}

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
      this.#postgres.query<AccountRow>(sql`
        SELECT state, auth_generation, reason, phone, lid, push_name FROM account WHERE id = ${accountId}`),
    );
    if (!row) return { state: 'starting', generation: 1 };
    return {
      state: row.state,
      generation: row.auth_generation,
      ...(row.reason !== null && { reason: row.reason }),
      ...(row.phone !== null && { phone: row.phone }),
      ...(row.lid !== null && { lid: row.lid }),
      ...(row.push_name !== null && { pushName: row.push_name }),
    };
  }

  async save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing a WhatsApp account', async () => {
      const written = await this.#postgres.execute(sql`
        INSERT INTO account (id, state, reason, phone, lid, push_name, updated_at)
        SELECT ${accountId}, ${record.state}, ${storableOrNull(record.reason)}, ${storableOrNull(record.phone)},
               ${storableOrNull(record.lid)}, ${storableOrNull(record.pushName)}, now()
        FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)
        ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, phone = excluded.phone,
          lid = excluded.lid, push_name = excluded.push_name, updated_at = excluded.updated_at`);
      return [{ held: written }];
    });
  }

  async nextGeneration(accountId: string): Promise<number> {
    const { owner, epoch } = fenceOf(this.#fence);
    const row = await underFence(this.#fence, 'putting the keys of a WhatsApp account aside', () =>
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
    const rows = await withStorage('reading the limits of a WhatsApp account', () =>
      this.#postgres.query<{ kind: LimitKind; reason: string; for_ms: number }>(sql`
        SELECT kind, reason,
          (extract(epoch FROM until - greatest(since, clock_timestamp())) * 1000)::float8 AS for_ms
        FROM account_limit WHERE account_id = ${accountId} AND until > clock_timestamp() ORDER BY kind`),
    );
    return rows.map((row) => ({ kind: row.kind, reason: row.reason, forMs: row.for_ms }));
  }

  async beginLimit(accountId: string, limit: AccountLimit): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing a limit of a WhatsApp account', async () => {
      const written = await this.#postgres.execute(sql`
        INSERT INTO account_limit (account_id, kind, reason, since, until)
        SELECT ${accountId}, ${limit.kind}, ${storableText(limit.reason)}, clock_timestamp(),
               clock_timestamp() + ${Math.round(limit.forMs)}::bigint * interval '1 millisecond'
        FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)
        ON CONFLICT (account_id, kind) DO UPDATE SET reason = excluded.reason, since = excluded.since,
          until = excluded.until`);
      return [{ held: written }];
    });
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
