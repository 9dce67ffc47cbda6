import type { KeyLimits } from './api-key-store.ts';

/** The windows in which requests of a key are counted, the shorter one first. */
export const WINDOWS = [
  { name: 'second', seconds: 1, quotaOf: (limits: KeyLimits) => limits.perSecond },
  { name: 'minute', seconds: 60, quotaOf: (limits: KeyLimits) => limits.perMinute },
] as const;

export type WindowName = (typeof WINDOWS)[number]['name'];

/** The state of one window after a request was counted in it. */
export interface WindowState {
  name: WindowName;
  /** Requests that are still allowed in it. */
  remaining: number;
  /** Milliseconds until it ends. */
  resetMs: number;
}

/**
 * The result of counting a request: the windows in which it was counted. The last one is full when the request is not
 * allowed.
 */
export interface LimitResult {
  isAllowed: boolean;
  windows: WindowState[];
}

/** Counts the requests of keys over all nodes, in fixed windows that begin with their first request. */
export interface RateLimiter {
  /**
   * Counts one request of a key. A request that is over the limit of a second is not counted in the minute.
   * @throws {StorageUnavailableError} it is not known whether the request was counted
   */
  count(keyId: string, limits: KeyLimits): Promise<LimitResult>;
}
