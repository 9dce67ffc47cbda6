import { setMaxListeners } from 'node:events';
import type { Clock } from '../../router/src/core/clock.ts';
import type { Timer, VirtualTime } from './virtual-time.ts';
import { enterProcess } from './virtual-timers.ts';

/** What a simulated machine's clock shows at the start of a simulation. */
export const START_MS = Date.UTC(2026, 0, 1);

/**
 * One operating system process of a simulated node. Everything that happens in it (answers, frames, timers) happens
 * through `after`: nothing of it happens once the process is killed, and nothing while it is paused.
 */
export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly #time: VirtualTime;
  #isDead = false;
  #isPaused = false;
  /** Set by a clock jump. */
  #wallOffsetMs = 0;
  /** What would have happened during a pause, in order. */
  #deferred: Array<() => void> = [];

  constructor(time: VirtualTime, name: string) {
    this.#time = time;
    this.name = name;
    const bornMs = time.nowMs;
    this.clock = {
      now: () => Math.floor(START_MS + time.nowMs + this.#wallOffsetMs),
      monotonicMs: () => time.nowMs - bornMs,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Runs `run` in this process after a time; later when the process is paused then, never when it is dead. */
  after(delayMs: number, run: () => void): Timer {
    const timer = this.#time.after(delayMs, () => this.#enter(run));
    return timer;
  }

  /** SIGKILL: no continuation of this process runs any more. */
  kill(): void {
    this.#isDead = true;
    this.#deferred = [];
  }

  /** SIGSTOP. */
  pause(): void {
    this.#isPaused = true;
  }

  /** SIGCONT: what became due meanwhile happens now, in order. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#time.after(0, () => this.#catchUp());
  }

  /** The machine's wall clock is set ahead, or back. */
  jumpMs(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  #enter(run: () => void): void {
    if (this.#isDead) return;
    if (this.#isPaused || this.#deferred.length > 0) this.#deferred.push(run);
    else this.#run(run);
  }

  #run(run: () => void): void {
    enterProcess(this);
    run();
  }

  /** One at a time, so that what it causes comes after what was due before. */
  #catchUp(): void {
    if (this.#isPaused || this.#isDead) return;
    const next = this.#deferred.shift();
    if (next) this.#run(next);
    if (this.#deferred.length > 0) this.#time.after(0, () => this.#catchUp());
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      // As many may wait under one signal as there are chats.
      if (signal) setMaxListeners(0, signal);
      const onAbort = () => {
        timer.cancel();
        reject(signal?.reason);
      };
      // As Node's timers: a shorter time can be too short for the virtual time to move at all.
      const timer = this.after(Math.max(1, ms), () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}
