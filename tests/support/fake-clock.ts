import type { Clock } from '../../router/src/core/clock.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';

interface Sleeper {
  atMs: number;
  wake(): void;
}

/** A clock that moves only when a test moves it; sleepers wake in order of their time. Its wall time can jump. */
export class FakeClock implements Clock {
  #nowMs: number;
  #jumpedMs = 0;
  #sleepers: Sleeper[] = [];
  #asleep: Array<() => void> = [];

  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs + this.#jumpedMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** Sets the wall time so much ahead, or back; no wait gets shorter or longer. */
  jumpMs(ms: number): void {
    this.#jumpedMs += ms;
  }

  /** How many waits are under way. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
      };
      const onAbort = () => {
        leave();
        reject(signal?.reason);
      };
      const sleeper: Sleeper = {
        atMs: this.#nowMs + ms,
        wake: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#sleepers.push(sleeper);
      for (const wake of this.#asleep.splice(0)) wake();
    });
  }

  /** Resolves when something waits on this clock. */
  untilSleeping(): Promise<void> {
    if (this.#sleepers.length > 0) return Promise.resolve();
    return new Promise((resolve) => this.#asleep.push(resolve));
  }

  /** Advances the time. Waits that are over resolve one by one, and each continuation runs before the next. */
  async advanceMs(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#sleepers.filter((s) => s.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (!due) break;
      this.#sleepers = this.#sleepers.filter((s) => s !== due);
      this.#nowMs = due.atMs;
      due.wake();
      await settle();
    }
    this.#nowMs = endMs;
    await settle();
  }
}

/** A clock on which waits below the limit take a millisecond, such as those between two attempts; others are real. */
export function impatientClock(limitMs: number): Clock {
  return { ...holdingClock, sleep: (ms, signal) => holdingClock.sleep(ms < limitMs ? 1 : ms, signal) };
}

/** Runs everything that can proceed without time passing. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
}
