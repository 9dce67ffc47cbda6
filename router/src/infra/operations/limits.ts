import type { Response } from 'express';
import type { ApiKey, KeyLimits } from '../../core/ports/api-key-store.ts';
import { type LimitResult, type RateLimiter, WINDOWS } from '../../core/ports/rate-limiter.ts';
import { RateLimitProblem } from './problem.ts';

/**
 * Counts a request of a key and names its limits in the response: `RateLimit-Policy` and `RateLimit`, as the IETF draft
 * "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers, since version 08) defines them.
 * @throws {RateLimitProblem} 429: the request is over a limit
 * @throws {StorageUnavailableError} it cannot be counted
 */
export async function limitRequest(limiter: RateLimiter, key: ApiKey, response: Response): Promise<void> {
  const result = await limiter.count(key.id, key.limits);
  response.set(limitHeaders(key.limits, result));
  const full = result.windows.at(-1);
  if (!result.isAllowed && full) throw new RateLimitProblem(full.name, retryAfterSeconds(result));
}

/** `RateLimit-Policy` and `RateLimit` of a counted request. */
export function limitHeaders(limits: KeyLimits, result: LimitResult): Record<string, string> {
  return { 'RateLimit-Policy': policyOf(limits), RateLimit: stateOf(result) };
}

/** When the window that is full ends, in seconds from 1. */
export function retryAfterSeconds({ windows }: LimitResult): number {
  return seconds(windows.at(-1)?.resetMs ?? 0);
}

/** `"second";q=10;w=1, "minute";q=100;w=60` */
function policyOf(limits: KeyLimits): string {
  return WINDOWS.map((window) => `"${window.name}";q=${window.quotaOf(limits)};w=${window.seconds}`).join(
    ', ',
  );
}

/** `"second";r=9;t=1, "minute";r=42;t=17`, without windows in which the request was not counted. */
function stateOf({ windows }: LimitResult): string {
  return windows
    .map(({ name, remaining, resetMs }) => `"${name}";r=${remaining};t=${seconds(resetMs)}`)
    .join(', ');
}

/** Rounded up: a caller that waits so long is not too early. */
function seconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1_000), 1);
}
