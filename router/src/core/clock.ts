/** Time for core, and a wait that a test can advance. */
export interface Clock {
  /**
   * Wall time in epoch milliseconds. It jumps, hours forward or back, when the machine's clock is set: for times that
   * people see and dates from other systems, never for durations.
   */
  now(): number;
  /** Milliseconds since an arbitrary moment; never jumps and never goes back. For durations, limits and ages. */
  monotonicMs(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Reason of a wait that is not needed any more. An abort without a reason creates an error each time. */
const ENDED = 'ended';

/**
 * Waits for `work`, at most `limitMs`. It is not cancelled; its later result or error is ignored.
 * @returns its result; undefined after the limit
 * @throws what `work` throws within the time
 */
export async function within<T>(
  clock: Pick<Clock, 'sleep'>,
  limitMs: number,
  work: Promise<T>,
): Promise<T | undefined> {
  const ended = new AbortController();
  const late = clock.sleep(limitMs, ended.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    ended.abort(ENDED);
  }
}

/** Runs `work` under a signal that aborts after `limitMs`, or when the outer `signal` does. */
export async function withLimit<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const limited = new AbortController();
  const done = new AbortController();
  const onAbort = () => limited.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  clock.sleep(limitMs, done.signal).then(
    () => limited.abort(),
    () => undefined,
  );
  try {
    return await work(limited.signal);
  } finally {
    done.abort(ENDED);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** @throws the signal's reason when it aborts before `wait` ends; the awaited work is not cancelled */
export async function orAbort<T>(wait: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return wait;
  signal.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Bounds of waits, in milliseconds. */
interface BackoffLimits {
  /** Ceiling of the first wait. Default 500. */
  baseMs?: number;
  /** Ceiling of every wait without a Retry-After. Default 30,000. */
  maxMs?: number;
  /** Longest Retry-After that is honoured; a longer one counts as this. Default 120,000. */
  maxRetryAfterMs?: number;
}

interface BackoffInput extends BackoffLimits {
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
