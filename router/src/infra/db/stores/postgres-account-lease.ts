import sql from 'sql-template-tag';
import type { AccountLeases, Lease } from '../../../core/ports/account-lease.ts';
import type { Statements } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/** What this version can connect: nodes of other versions leave what they cannot. */
const PROVIDERS = ['baileys', 'playground'];

export interface AccountLeaseOptions {
  /** This node's name. */
  owner: string;
  /** How long a lease counts after its last renewal, in milliseconds. */
  ttlMs: number;
}

/** Leases in PostgreSQL; see prisma/functions/leases.sql. */
export class PostgresAccountLeases implements AccountLeases {
  readonly #postgres: Statements;
  readonly #owner: string;
  readonly #ttlMs: number;

  constructor(postgres: Statements, options: AccountLeaseOptions) {
    this.#postgres = postgres;
    this.#owner = options.owner;
    this.#ttlMs = options.ttlMs;
  }

  async acquire(
    accountId: string,
    { fromDead = false, wasOurs = false }: { fromDead?: boolean; wasOurs?: boolean } = {},
  ): Promise<Lease | undefined> {
    const [row] = await withStorage('acquiring the lease of an account', () =>
      this.#postgres.query<{ epoch: bigint | null }>(sql`
        SELECT lease_acquire(${accountId}, ${this.#owner}, ${this.#ttlMs}::integer, ${fromDead},
          ${PROVIDERS}::text[], ${wasOurs}) AS epoch`),
    );
    const epoch = row?.epoch ?? undefined;
    return epoch === undefined ? undefined : { accountId, owner: this.#owner, epoch };
  }

  async renew(leases: readonly Lease[]): Promise<Set<string>> {
    if (leases.length === 0) return new Set();
    const rows = await withStorage('renewing the leases of accounts', () =>
      this.#postgres.query<{ account_id: string }>(sql`
        UPDATE account_lease l SET until = clock_timestamp() + ${this.#ttlMs}::integer * interval '1 millisecond'
        FROM unnest(${leases.map((lease) => lease.accountId)}::text[],
                    ${leases.map((lease) => lease.epoch.toString())}::bigint[]) AS own (account_id, epoch)
        WHERE l.account_id = own.account_id AND l.epoch = own.epoch AND l.owner = ${this.#owner}
        RETURNING l.account_id`),
    );
    return new Set(rows.map((row) => row.account_id));
  }

  async release(lease: Lease): Promise<void> {
    await withStorage('releasing the lease of an account', () =>
      this.#postgres.execute(sql`
        UPDATE account_lease SET owner = '', until = clock_timestamp()
        WHERE account_id = ${lease.accountId} AND owner = ${this.#owner} AND epoch = ${lease.epoch.toString()}::bigint`),
    );
  }
}
