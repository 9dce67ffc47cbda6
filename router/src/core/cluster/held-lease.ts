import { LeaseLostError } from '../errors.ts';
import type { AccountLeases, Fence, Lease } from '../ports/account-lease.ts';

const TAKEN = 'another node took the account';

export interface HeldLeaseDeps {
  leases: Pick<AccountLeases, 'renew'>;
  /** Another node had the account before, and did not release it. */
  isTakeOver: boolean;
  /** How long after a renewal it may be used; less than the lease's time, so that this process stops before another one may start. */
  safeMs: number;
  /** Monotonic time before the lease was requested. */
  askedAtMs: number;
  monotonicMs(): number;
  onLost(reason: string): void;
}

/** A lease of this process, with its own view of whether it may still act under it. */
export class HeldLease implements Fence {
  readonly accountId: string;
  readonly owner: string;
  readonly epoch: bigint;
  readonly isTakeOver: boolean;
  /** Why it was lost; undefined while it is valid, and when only its time has expired. */
  lostBecause: string | undefined;
  readonly #deps: HeldLeaseDeps;
  #renewedAtMs: number;

  constructor(lease: Lease, deps: HeldLeaseDeps) {
    this.accountId = lease.accountId;
    this.owner = lease.owner;
    this.epoch = lease.epoch;
    this.isTakeOver = deps.isTakeOver;
    this.#deps = deps;
    this.#renewedAtMs = deps.askedAtMs;
  }

  isHeld(): boolean {
    const { monotonicMs, safeMs } = this.#deps;
    return this.lostBecause === undefined && monotonicMs() - this.#renewedAtMs < safeMs;
  }

  async verify(): Promise<void> {
    const { leases, monotonicMs } = this.#deps;
    const askedAtMs = monotonicMs();
    this.renewed(askedAtMs, await leases.renew([this]));
    if (!this.isHeld()) throw new LeaseLostError(this.accountId);
  }

  /** @param kept the accounts whose leases a renewal, requested at `askedAtMs` (monotonic), found valid */
  renewed(askedAtMs: number, kept: ReadonlySet<string>): void {
    if (kept.has(this.accountId)) this.#renewedAtMs = Math.max(this.#renewedAtMs, askedAtMs);
    else this.lose(TAKEN);
  }

  lose(reason: string): void {
    if (this.lostBecause !== undefined) return;
    this.lostBecause = reason;
    this.#deps.onLost(reason);
  }
}
