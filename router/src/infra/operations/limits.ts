import type { Response } from 'express';
import type { Caller } from '../../core/access/caller.ts';
import type { ApiKey, KeyLimits } from '../../core/ports/api-key-store.ts';
import { type LimitResult, type RateLimiter, WINDOWS } from '../../core/ports/rate-limiter.ts';
import { OpenRequestsProblem, RateLimitProblem } from './problem.ts';

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

/** Requests of one key or user that a node answers at a time: calls that wait, streams, and all others. */
export const MAX_OPEN_REQUESTS = 150;

/** Tasks of one key or user that have not ended: questions to people, messages, talks to agents. */
const MAX_OPEN_TASKS = 100;

export const TOO_MANY_TASKS = `The caller has ${MAX_OPEN_TASKS} open tasks. Wait until some end, or cancel them.`;

/** How many open tasks the caller may have; undefined: any number. Keys and users have a limit; the admin has none. */
export function maxOpenTasksOf(caller: Caller): number | undefined {
  return limitedName(caller) === undefined ? undefined : MAX_OPEN_TASKS;
}

/** Counts the requests of each key and user that this node is answering, so that waits and streams of one do not exhaust it. */
export class OpenRequests {
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request until its response closes.
   * @throws {OpenRequestsProblem} 429: the caller has too many
   */
  enter(caller: Caller, response: { once(event: 'close', listener: () => void): unknown }): void {
    const name = limitedName(caller);
    if (name === undefined) return;
    const count = this.#counts.get(name) ?? 0;
    if (count >= MAX_OPEN_REQUESTS) throw new OpenRequestsProblem(count);
    this.#counts.set(name, count + 1);
    response.once('close', () => {
      const others = (this.#counts.get(name) ?? 1) - 1;
      if (others > 0) this.#counts.set(name, others);
      else this.#counts.delete(name);
    });
  }
}

function limitedName(caller: Caller): string | undefined {
  if (caller.kind === 'key') return `key ${caller.key.id}`;
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return user && `user ${user.name}`;
}
