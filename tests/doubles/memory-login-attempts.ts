import { FORGET_ATTEMPTS_AFTER_MS } from '../../router/src/core/access/failed-attempts.ts';
import type { AttemptKey, LoginAttempts } from '../../router/src/features/access/sign-in.ts';

/** Attempts to sign in, counted in memory, for tests. */
export class MemoryLoginAttempts implements LoginAttempts {
  readonly #rows = new Map<string, { count: number; lastMs: number; allowedMs: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async begin({ key, delaysMs }: AttemptKey): Promise<number> {
    const nowMs = this.#now();
    const row = this.#rows.get(key);
    if (row && row.allowedMs > nowMs) return row.allowedMs - nowMs;
    const isForgotten = !row || row.lastMs <= nowMs - FORGET_ATTEMPTS_AFTER_MS;
    const count = isForgotten ? 1 : row.count + 1;
    const delayMs = delaysMs[Math.min(count, delaysMs.length) - 1] ?? 0;
    this.#rows.set(key, { count, lastMs: nowMs, allowedMs: nowMs + delayMs });
    return 0;
  }

  async undo(key: string): Promise<void> {
    const row = this.#rows.get(key);
    if (row) this.#rows.set(key, { ...row, count: Math.max(row.count - 1, 0), allowedMs: this.#now() });
  }

  async forget(key: string): Promise<void> {
    this.#rows.delete(key);
  }
}
