import { z } from 'zod';
import type { Clock } from '../../core/ports/clock.ts';
import type { ShowProgress } from './tool.ts';

const MAX_WAIT_SECONDS = 600;
/** Shorter than a minute, after which many clients give up. */
const DEFAULT_WAIT_SECONDS = 50;
const PROGRESS_EVERY_MS = 5_000;

/** The argument `wait_seconds`. */
export function waitSeconds({ max = MAX_WAIT_SECONDS, byDefault = DEFAULT_WAIT_SECONDS } = {}) {
  return z
    .int()
    .min(0)
    .max(max)
    .default(byDefault)
    .describe(
      `How long to wait, 0 to ${max}. Keep it below the time limit of your client, often 60 seconds; call again to wait on.`,
    );
}

/** Does work that waits, and shows every five seconds how long it has waited. */
export async function withProgress<T>(
  clock: Clock,
  totalSeconds: number,
  { progress }: { progress: ShowProgress },
  work: (show: (message?: string) => void) => Promise<T>,
): Promise<T> {
  const began = clock.monotonicMs();
  const ended = new AbortController();
  const show = (message?: string) => progress((clock.monotonicMs() - began) / 1_000, totalSeconds, message);
  const tick = async () => {
    for (;;) {
      await clock.sleep(PROGRESS_EVERY_MS, ended.signal);
      show();
    }
  };
  tick().catch(() => undefined);
  try {
    return await work(show);
  } finally {
    ended.abort();
  }
}
