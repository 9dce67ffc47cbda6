import { backoffMs } from '../../core/retry.ts';
import type { DueDelivery, FailedAttempt } from './webhook-deliveries.ts';

const HOUR_MS = 3_600_000;
/** An event that is older is dead after the next failure. */
export const MAX_AGE_MS = 24 * HOUR_MS;
export const MAX_ATTEMPTS = 50;
/** After so many failures in a row without an answer, the webhook pauses between attempts. */
const PAUSE_FROM_FAILURES = 5;
const MAX_PAUSE_MS = 300_000;
/** A webhook that fails for so long, and so often, is switched off. */
const MAX_FAILING_MS = 72 * HOUR_MS;
const MIN_FAILURES = 20;

/** How an attempt failed. */
export interface AttemptFailure {
  /** HTTP status; absent: there was no answer. */
  status?: number;
  error: string;
  /** The wait that the receiver asked for. */
  retryAfterMs?: number;
}

/**
 * What a failed attempt changes: the event waits or is dead, and the webhook pauses or is switched off. Pure.
 * @param random uniform in [0, 1)
 */
export function afterFailure(
  {
    attempt,
    ageMs,
    failures,
    failingForMs,
  }: Pick<DueDelivery, 'attempt' | 'ageMs' | 'failures' | 'failingForMs'>,
  { status, error, retryAfterMs }: AttemptFailure,
  random: () => number,
): FailedAttempt {
  const waits = { random, maxRetryAfterMs: HOUR_MS, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  const isDead = ageMs >= MAX_AGE_MS || attempt >= MAX_ATTEMPTS;
  const isBusy = status === 429 || status === 503;
  const isAway = status === undefined || status >= 500 || status === 429;
  const inARow = failures + 1;
  const pauses = (isAway && inARow >= PAUSE_FROM_FAILURES) || (isBusy && retryAfterMs !== undefined);
  const reason = reasonToDisable(status, inARow, failingForMs, error);
  return {
    ...(status !== undefined && { status }),
    error,
    ...(!isDead && { retryInMs: backoffMs({ ...waits, attempt, baseMs: 2_000, maxMs: HOUR_MS }) }),
    ...(pauses && {
      pauseMs: backoffMs({
        ...waits,
        attempt: inARow - PAUSE_FROM_FAILURES + 1,
        baseMs: 2_000,
        maxMs: MAX_PAUSE_MS,
      }),
    }),
    ...(reason !== undefined && { disabledReason: reason }),
  };
}

function reasonToDisable(
  status: number | undefined,
  inARow: number,
  failingForMs: number,
  error: string,
): string | undefined {
  if (status === 410) return 'The receiver answered status 410: it does not want any more events.';
  if (failingForMs < MAX_FAILING_MS || inARow < MIN_FAILURES) return undefined;
  return `No event could be delivered for three days. ${error}`;
}
