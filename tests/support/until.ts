import { setTimeout as wait } from 'node:timers/promises';

/**
 * Polls until `look` returns a value, for state without an event, such as that of another process.
 * @param what goes into the error: "waited <timeoutMs> ms for <what>", as it is known then
 * @throws {Error} after `timeoutMs`, with the error of the last look if that one failed
 */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T | undefined>,
  timeoutMs = 30_000,
): Promise<T> {
  const beganMs = performance.now();
  for (;;) {
    let cause: unknown;
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      cause = error;
    }
    if (performance.now() - beganMs > timeoutMs) {
      const awaited = typeof what === 'string' ? what : what();
      throw new Error(`waited ${timeoutMs} ms for ${awaited}`, { cause });
    }
    await wait(50);
  }
}
