import type { EventEmitter } from 'node:events';

/**
 * The first event to come that fits.
 * @param problem returns the error text after the time-out
 * @throws {Error} after `timeoutMs`
 */
export function untilEvent<T>(
  events: EventEmitter,
  event: string,
  fits: (value: T) => boolean,
  {
    timeoutMs,
    problem = () => `no fitting ${event} within ${timeoutMs} ms`,
  }: { timeoutMs: number; problem?: () => string },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const listener = (value: T) => {
      if (!fits(value)) return;
      clearTimeout(timer);
      events.off(event, listener);
      resolve(value);
    };
    const timer = setTimeout(() => {
      events.off(event, listener);
      reject(new Error(problem()));
    }, timeoutMs);
    events.on(event, listener);
  });
}
