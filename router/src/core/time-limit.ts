import type { Clock } from './ports/clock.ts';

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
