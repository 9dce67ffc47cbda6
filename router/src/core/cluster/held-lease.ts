import type { Fence, Lease } from '../ports/account-lease.ts';

/** A lease of this process, with its own view of whether it may still act under it. */
export class HeldLease implements Fence {
  readonly accountId: string;
  readonly owner: string;
  readonly epoch: bigint;
  /** Why it was lost; undefined while it is valid, and when only its time has expired. */
  lostBecause: string | undefined;
  readonly #safeMs: number;
  readonly #monotonicMs: () => number;
  readonly #onLost: (reason: string) => void;
  #renewedAtMs: number;

  /**
   * @param deps.safeMs how long after a renewal it may be used; less than the lease's time, so that this process stops
   *   before another one may start
   * @param deps.askedAtMs monotonic time before the lease was requested
   */
  constructor(
    lease: Lease,
    deps: { safeMs: number; askedAtMs: number; monotonicMs(): number; onLost(reason: string): void },
  ) {
    this.accountId = lease.accountId;
    this.owner = lease.owner;
    this.epoch = lease.epoch;
    this.#safeMs = deps.safeMs;
    this.#monotonicMs = deps.monotonicMs;
    this.#onLost = deps.onLost;
    this.#renewedAtMs = deps.askedAtMs;
  }

  isHeld(): boolean {
    return this.lostBecause === undefined && this.#monotonicMs() - this.#renewedAtMs < this.#safeMs;
  }

  /** A renewal that was requested at `askedAtMs` (monotonic) succeeded. */
  renewed(askedAtMs: number): void {
    this.#renewedAtMs = Math.max(this.#renewedAtMs, askedAtMs);
  }

  lose(reason: string): void {
    if (this.lostBecause !== undefined) return;
    this.lostBecause = reason;
    this.#onLost(reason);
  }
}
