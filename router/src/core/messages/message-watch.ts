import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { MessageLog } from '../ports/message-log.ts';

/** How often the newest message is read while somebody waits. */
const LOOK_EVERY_MS = 1_000;

export interface MessageWatchDeps {
  messageLog: Pick<MessageLog, 'newestId'>;
  clock: Clock;
  log: Logger;
}

/**
 * Tells everybody on this node who waits for messages that there are new ones, on whichever node they were stored. One read
 * a second, however many wait, and none while nobody does.
 */
export class MessageWatch {
  readonly #deps: MessageWatchDeps;
  readonly #waiters = new Set<{ since: string | undefined; wake(): void }>();
  #looking: AbortController | undefined;

  constructor(deps: MessageWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Waits until the newest message is another one than `since`.
   * @param since what `newestId` of the message log returned before the caller looked for its messages
   * @throws the reason of the signal
   */
  async changed(since: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let onAbort: () => void = () => undefined;
    let wake: () => void = () => undefined;
    const woken = new Promise<void>((resolve, reject) => {
      wake = resolve;
      onAbort = () => reject(signal.reason);
    });
    const waiter = { since, wake };
    this.#waiters.add(waiter);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#startLooking();
    try {
      await woken;
    } finally {
      this.#waiters.delete(waiter);
      signal.removeEventListener('abort', onAbort);
      if (this.#waiters.size === 0) this.#looking?.abort();
    }
  }

  #startLooking(): void {
    if (this.#looking && !this.#looking.signal.aborted) return;
    this.#looking = new AbortController();
    void this.#look(this.#looking.signal);
  }

  async #look(stopped: AbortSignal): Promise<void> {
    const { messageLog, clock, log } = this.#deps;
    while (!stopped.aborted) {
      try {
        await clock.sleep(LOOK_EVERY_MS, stopped);
        const newest = await messageLog.newestId();
        for (const { since, wake } of [...this.#waiters]) if (since !== newest) wake();
      } catch (error) {
        if (!stopped.aborted) log.debug({ err: error }, 'cannot read the newest message, retrying');
      }
    }
  }
}
