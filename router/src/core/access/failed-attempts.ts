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

/** How long the next password must wait after attempts without a success. */
export interface DelayRule {
  /** Attempts that have no effect: a person may mistype a password. */
  freeAttempts: number;
  firstDelayMs: number;
  maxDelayMs: number;
}

/** After this long without an attempt, the count begins from 1. */
export const FORGET_ATTEMPTS_AFTER_MS = 3_600_000;

/**
 * For one name: the delay doubles up to a minute. It is no longer, because anybody who knows the name can cause it: its
 * owner waits for a minute and is not locked out.
 */
export const NAME_DELAYS: DelayRule = { freeAttempts: 5, firstDelayMs: 1_000, maxDelayMs: 60_000 };

/** For one address, which may be that of a proxy and so of all people: up to five seconds. */
export const ADDRESS_DELAYS: DelayRule = { freeAttempts: 20, firstDelayMs: 1_000, maxDelayMs: 5_000 };

/** Milliseconds until an attempt is allowed after 1, 2, 3 ... attempts; the last number is for all further ones. */
export function delaysOf({ freeAttempts, firstDelayMs, maxDelayMs }: DelayRule): number[] {
  const delays = Array.from({ length: freeAttempts - 1 }, () => 0);
  for (let delayMs = firstDelayMs; delayMs < maxDelayMs; delayMs *= 2) delays.push(delayMs);
  return [...delays, maxDelayMs];
}

/** The network by which callers are counted: the first four groups of an IPv6 address; any other address as it is. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array.from({ length: missing }, () => '0'), ...(tail ? tail.split(':') : [])];
  return all.slice(0, 4).join(':');
}
