import { AgentUnavailableError } from '../../../core/errors.ts';

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

/**
 * `Retry-After` in milliseconds from now; the header contains seconds or a date (RFC 9110), and some model servers send the
 * more exact `retry-after-ms` beside it. Undefined without a usable one.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const exact = headers.get('retry-after-ms')?.trim();
  if (exact && /^\d+$/.test(exact)) return Number(exact);
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
