import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/ports/clock.ts';

/** The machine's clock. Its waits do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    if (signal) allowManyWaits(signal);
    await sleep(ms, undefined, { ref: false, ...(signal && { signal }) });
  },
};

/** As many listeners may wait for one signal as there are chats; Node warns of a leak from eleven on. */
export function allowManyWaits(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}

/**
 * Unlike the service's clock, this one keeps the process alive: a script that awaits an answer must not end before it.
 */
export const holdingClock: Clock = {
  ...systemClock,
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal && { signal });
  },
};
