import type { AccountLeases, Lease } from '../../router/src/core/ports/cluster.ts';

/** State shared by the nodes of one test: leases, time, and the nodes whose process ended. */
export class MemoryLeaseState {
  readonly rows = new Map<string, { owner: string; epoch: bigint; untilMs: number }>();
  readonly gone = new Set<string>();
  nowMs = 0;
  /** Called for an account whose process ended. */
  onEnded: (accountId: string) => void = () => undefined;
}

/** Leases of one node in memory. */
export class MemoryAccountLeases implements AccountLeases {
  readonly #state: MemoryLeaseState;
  readonly #owner: string;
  readonly #ttlMs: number;

  constructor(state: MemoryLeaseState, options: { owner: string; ttlMs: number }) {
    this.#state = state;
    this.#owner = options.owner;
    this.#ttlMs = options.ttlMs;
  }

  async acquire(
    accountId: string,
    options: { fromDead?: boolean; wasOurs?: boolean } = {},
  ): Promise<Lease | undefined> {
    const { rows, gone, nowMs } = this.#state;
    const row = rows.get(accountId) ?? { owner: '', epoch: 0n, untilMs: 0 };
    const counts = row.owner !== '' && row.owner !== this.#owner && row.untilMs > nowMs;
    if (counts && !(options.fromDead && gone.has(row.owner))) return undefined;
    const isOwn = row.owner === this.#owner && options.wasOurs;
    if (row.owner !== '' && !isOwn) this.#state.onEnded(accountId);
    const epoch = row.epoch + 1n;
    rows.set(accountId, { owner: this.#owner, epoch, untilMs: nowMs + this.#ttlMs });
    return { accountId, owner: this.#owner, epoch };
  }

  async renew(leases: readonly Lease[]): Promise<Set<string>> {
    const kept = new Set<string>();
    for (const lease of leases) {
      const row = this.#ownRow(lease);
      if (!row) continue;
      row.untilMs = this.#state.nowMs + this.#ttlMs;
      kept.add(lease.accountId);
    }
    return kept;
  }

  async release(lease: Lease): Promise<void> {
    const row = this.#ownRow(lease);
    if (row) Object.assign(row, { owner: '', untilMs: this.#state.nowMs });
  }

  #ownRow(lease: Lease) {
    const row = this.#state.rows.get(lease.accountId);
    return row?.owner === this.#owner && row.epoch === lease.epoch ? row : undefined;
  }
}
