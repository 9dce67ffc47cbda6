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
