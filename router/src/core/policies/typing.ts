import type { Clock } from '../ports/clock.ts';

/** Agents that answer faster than this show no "typing...": it would only flicker, and cost a stanza each way. */
const APPEARS_AFTER_MS = 400;
/** WhatsApp drops the indicator after about 25 s without a repeat. */
const REPEAT_EVERY_MS = 15_000;

/**
 * Shows "typing..." while `work` runs. The indicator is best effort: its failures never reach the caller, and it is
 * taken back when the work ends without being waited for.
 */
export async function whileTyping<T>(
  clock: Clock,
  setTyping: (isTyping: boolean) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const shown = showUntilEnded(clock, setTyping, ended.signal);
  try {
    return await work();
  } finally {
    ended.abort();
    void shown;
  }
}

async function showUntilEnded(
  clock: Clock,
  setTyping: (isTyping: boolean) => Promise<void>,
  ended: AbortSignal,
): Promise<void> {
  let isShown = false;
  try {
    await clock.sleep(APPEARS_AFTER_MS, ended);
    for (;;) {
      isShown = true;
      await setTyping(true);
      await clock.sleep(REPEAT_EVERY_MS, ended);
    }
  } catch {
    // The sleep was ended with the work, or WhatsApp did not take the indicator: both mean "no longer typing".
    if (isShown) await setTyping(false).catch(() => undefined);
  }
}
