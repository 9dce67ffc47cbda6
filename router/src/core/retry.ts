/** Bounds of waits, in milliseconds. */
export interface BackoffLimits {
  /** Ceiling of the first wait. Default 500. */
  baseMs?: number;
  /** Ceiling of every wait without a Retry-After. Default 30,000. */
  maxMs?: number;
  /** Longest Retry-After that is honoured; a longer one counts as this. Default 120,000. */
  maxRetryAfterMs?: number;
}

export interface BackoffInput extends BackoffLimits {
  /** The attempt that failed, from 1. */
  attempt: number;
  /** The wait that the other side requested (`Retry-After`), in milliseconds. */
  retryAfterMs?: number;
  /** Uniform in [0, 1), e.g. Math.random. */
  random(): number;
}

/**
 * Wait before the next attempt, in whole milliseconds: exponential backoff with full jitter, a uniform draw from [0,
 * min(maxMs, baseMs · 2^(attempt-1))). With `retryAfterMs` the wait is at least that (up to `maxRetryAfterMs`), plus
 * jitter of up to a tenth of it, so that callers that were rejected together do not retry together. Total: odd numbers
 * (negative, NaN, huge) give a wait within the bounds.
 */
export function backoffMs(input: BackoffInput): number {
  const { baseMs = 500, maxMs = 30_000, maxRetryAfterMs = 120_000 } = input;
  const draw = Math.min(Math.max(input.random(), 0), 1);
  const { retryAfterMs } = input;
  if (retryAfterMs !== undefined && retryAfterMs > 0) {
    const waitMs = Math.min(retryAfterMs, maxRetryAfterMs);
    return Math.ceil(waitMs + (draw * waitMs) / 10);
  }
  const doublings = Math.min(Math.max(Math.trunc(input.attempt) - 1, 0) || 0, 30);
  return Math.floor(draw * Math.min(maxMs, baseMs * 2 ** doublings));
}

/** Wait after the `attempt`-th attempt (from 1) while the database does not answer, in milliseconds: grows to five seconds. */
export function storageRetryMs(attempt: number): number {
  return Math.min(500 * attempt, 5_000);
}
