import { AgentUnavailableError } from '../../../core/errors.ts';
import { retryAfterMs } from './retry-after.ts';

/** The error for a status after which the agent has not run the request (429, 503; most likely 502); else undefined. */
export function notTakenError(
  { status, headers }: { status: number; headers: Headers },
  sentence: string,
  nowMs: number,
): AgentUnavailableError | undefined {
  if (status !== 429 && status !== 502 && status !== 503) return undefined;
  const waitMs = status === 502 ? undefined : retryAfterMs(headers, nowMs);
  return new AgentUnavailableError(sentence, {
    retryAfterMs: waitMs,
    isAway: true,
    mayHaveRun: status === 502,
  });
}
