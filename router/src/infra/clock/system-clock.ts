import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/ports/clock.ts';

/** The machine's clock. Its waits do not hold the process at shutdown. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    if (signal) allowManyWaits(signal);
    await sleep(ms, undefined, { ref: false, ...(signal && { signal }) });
  },
};

/** As many may wait under one signal as there are chats; Node takes more than ten for a leak and warns. */
export function allowManyWaits(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}

/** Unlike the service's clock, this one holds the process: a script that awaits an answer must not end before it. */
export const holdingClock: Clock = {
  ...systemClock,
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal && { signal });
  },
};
