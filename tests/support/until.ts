import { setTimeout as wait } from 'node:timers/promises';

/**
 * Polls until `look` returns a value, for state without an event, such as that of another process.
 * @param what goes into the error: "waited <timeoutMs> ms for <what>", as it is known then
 * @throws {Error} after `timeoutMs`, with the error of the last look if that one failed
 */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T | undefined>,
  timeoutMs = 60_000,
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

/**
 * Polls until a number that grows has reached `target`, however long a busy machine takes for it.
 * @throws {Error} when it has not grown for `stuckAfterMs`
 */
export async function untilReached(
  what: string,
  look: () => number,
  target: number,
  stuckAfterMs = 60_000,
): Promise<void> {
  for (let most = look(); most < target; most = look()) {
    const from = most;
    const awaited = () => `more than ${from} of ${target} ${what}`;
    await until(awaited, async () => (look() > from ? true : undefined), stuckAfterMs);
  }
}
