import type { SimProcess } from './sim-process.ts';
import type { Timer } from './virtual-time.ts';

const REAL = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
};

let current: SimProcess | undefined;

/** The simulated process whose code runs from now until the next call. */
export function enterProcess(process: SimProcess | undefined): void {
  current = process;
}

/**
 * Timers that code of a simulated process starts run in virtual time, and end with the process; those of other code stay
 * real. For timers that production code does not take from its clock.
 * @returns restores the real timers
 */
export function installVirtualTimers(): () => void {
  const virtual = {
    setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      current ? new VirtualTimeout(current, () => run(...args), ms) : REAL.setTimeout(run, ms, ...args),
    setInterval: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      current ? new VirtualTimeout(current, () => run(...args), ms, ms) : REAL.setInterval(run, ms, ...args),
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) =>
      current ? new VirtualTimeout(current, () => run(...args), 0) : REAL.setImmediate(run, ...args),
    clearTimeout: (timer: unknown) => clear(timer, REAL.clearTimeout),
    clearInterval: (timer: unknown) => clear(timer, REAL.clearInterval),
    clearImmediate: (timer: unknown) => clear(timer, REAL.clearImmediate),
  };
  Object.assign(globalThis, virtual);
  return () => {
    Object.assign(globalThis, REAL);
  };
}

/** As much of Node's Timeout as production code uses. */
class VirtualTimeout {
  readonly #process: SimProcess;
  readonly #run: () => void;
  readonly #ms: number;
  readonly #everyMs: number | undefined;
  #timer: Timer;

  constructor(process: SimProcess, run: () => void, ms: number, everyMs?: number) {
    this.#process = process;
    this.#run = run;
    this.#ms = ms;
    this.#everyMs = everyMs;
    this.#timer = this.#start(ms);
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  refresh(): this {
    this.cancel();
    this.#timer = this.#start(this.#ms);
    return this;
  }

  cancel(): void {
    this.#timer.cancel();
  }

  #start(ms: number): Timer {
    return this.#process.after(ms, () => {
      if (this.#everyMs !== undefined) this.#timer = this.#start(this.#everyMs);
      this.#run();
    });
  }
}

function clear(timer: unknown, real: (timer: never) => void): void {
  if (timer instanceof VirtualTimeout) timer.cancel();
  else real(timer as never);
}
