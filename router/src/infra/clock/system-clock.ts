import { setMaxListeners } from 'node:events';
import type { Clock } from '../../core/clock.ts';

/** The machine's clock. Its waits do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => timer(ms, signal, false),
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
  sleep: (ms, signal) => timer(ms, signal, true),
};

/** Not the one of `node:timers/promises`: that one creates an error with a stack for each wait that ends early. */
function timer(ms: number, signal: AbortSignal | undefined, keepsAlive: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timeout);
      reject(signal?.reason);
    };
    const timeout = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (!keepsAlive) timeout.unref();
    if (!signal) return;
    allowManyWaits(signal);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
