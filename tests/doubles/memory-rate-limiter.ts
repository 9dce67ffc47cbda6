import {
  type LimitResult,
  type RateLimiter,
  WINDOWS,
  type WindowState,
} from '../../router/src/core/ports/access.ts';
import type { KeyLimits } from '../../router/src/core/ports/api-key-store.ts';

/** Counts requests in memory, for tests. */
export class MemoryRateLimiter implements RateLimiter {
  readonly #windows = new Map<string, { count: number; endsAtMs: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async count(keyId: string, limits: KeyLimits): Promise<LimitResult> {
    const windows: WindowState[] = [];
    for (const { name, seconds, quotaOf } of WINDOWS) {
      const id = `${name} ${keyId}`;
      const before = this.#windows.get(id);
      const isRunning = before !== undefined && before.endsAtMs > this.#now();
      const window = isRunning ? before : { count: 0, endsAtMs: this.#now() + seconds * 1_000 };
      window.count += 1;
      this.#windows.set(id, window);
      const remaining = Math.max(quotaOf(limits) - window.count, 0);
      windows.push({ name, remaining, resetMs: window.endsAtMs - this.#now() });
      if (window.count > quotaOf(limits)) return { isAllowed: false, windows };
    }
    return { isAllowed: true, windows };
  }
}
