import { networkOf } from './network-of.ts';

/** Failures of an address that have no effect: a person may mistype a key. */
const FREE_FAILURES = 3;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 4_000;
/** An address without failures for this long counts from 1 again. */
const FORGET_AFTER_MS = 600_000;
/** The addresses that failed last; others are forgotten. */
const MAX_ADDRESSES = 10_000;

/**
 * Slows down addresses that send wrong keys: after the third failure the check of the next key waits, twice as long after
 * each failure, up to four seconds. Nobody is refused, so somebody who guesses keys delays other callers behind the same
 * address (a proxy) and does not lock them out. A network of IPv6 (/64) counts as one address.
 */
export class FailedKeys {
  readonly #failures = new Map<string, { count: number; lastMs: number }>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** How long the check of a key from this address must wait, in milliseconds. */
  delayMs(address: string): number {
    const doublings = this.#countOf(networkOf(address)) - FREE_FAILURES;
    return doublings < 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** doublings, MAX_DELAY_MS);
  }

  /** Counts a failure. @returns its number, from 1 */
  count(address: string): number {
    const name = networkOf(address);
    const count = this.#countOf(name) + 1;
    this.#failures.delete(name);
    this.#failures.set(name, { count, lastMs: this.#monotonicMs() });
    if (this.#failures.size > MAX_ADDRESSES) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
    }
    return count;
  }

  #countOf(name: string): number {
    const failures = this.#failures.get(name);
    return failures && this.#monotonicMs() - failures.lastMs < FORGET_AFTER_MS ? failures.count : 0;
  }
}
