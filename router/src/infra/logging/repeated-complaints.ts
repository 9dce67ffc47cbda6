import { LRUCache } from 'lru-cache';

/** A complaint that was not made for so long counts as the first again. */
const FORGOTTEN_AFTER_MS = 60_000;
const MAX_KINDS = 500;

/**
 * Which of the same complaints are worth a log line: the first, then every doubling. What fails while a database is away
 * is tried again many times a second by many loops, and their words would fill the disk that may be what it lacks.
 */
export class RepeatedComplaints {
  readonly #made = new LRUCache<string, { count: number; lastMs: number }>({ max: MAX_KINDS });
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** @returns how often it was made by now, when that is worth telling */
  made(complaint: string): number | undefined {
    const nowMs = this.#monotonicMs();
    const before = this.#made.get(complaint);
    const isAgain = before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS;
    const count = isAgain ? before.count + 1 : 1;
    this.#made.set(complaint, { count, lastMs: nowMs });
    return Number.isInteger(Math.log2(count)) ? count : undefined;
  }
}
