import sql from 'sql-template-tag';
import { LeaseLostError } from '../../../core/errors.ts';
import type { AccountLeases, Fence, Lease } from '../../../core/ports/cluster.ts';
import type { Statements } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/** What this version can connect: nodes of other versions leave what they cannot. */
const PROVIDERS = ['baileys', 'playground'];

interface AccountLeaseOptions {
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

/** The result of a fenced statement: `held` is 0 if the lease is no longer valid and nothing was written. */
export interface HeldRow {
  held: number;
}

/** Owner and epoch for the SQL function `lease_held`; NULL for callers without a lease. */
export function fenceOf(fence: Lease | undefined): { owner: string | null; epoch: string | null } {
  return { owner: fence?.owner ?? null, epoch: fence?.epoch.toString() ?? null };
}

/**
 * Runs one write of an account's owner. With a lost lease it does not reach the database; if the database finds the lease
 * invalid, the fence is marked as lost, and the owner releases the account.
 * @param write resolves with one row; its statement joins `lease_held`
 * @throws {LeaseLostError} nothing was written
 * @throws {StorageUnavailableError} {StorageRejectedError}
 */
export async function underFence<Row extends HeldRow>(
  fence: Fence | undefined,
  what: string,
  write: () => Promise<Row[]>,
): Promise<Row> {
  if (fence && !fence.isHeld()) throw new LeaseLostError(fence.accountId);
  const [row] = await withStorage(what, write);
  if (row && row.held > 0) return row;
  if (!fence) throw new Error(`${what} returned no row`);
  fence.lose('another node took the account');
  throw new LeaseLostError(fence.accountId);
}
