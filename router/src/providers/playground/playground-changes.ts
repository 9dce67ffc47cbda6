import type { NodeBus } from '../../core/cluster/node-bus.ts';
import type { ChatId } from '../../core/ids.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { within } from '../../core/time-limit.ts';

/** Between reads when no node reports a change: the report may be lost. */
const READ_EVERY_MS = 1_000;

/** Waits for what changes in chats of the playground, on whatever node. */
export class PlaygroundChanges {
  readonly #clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  readonly #waiting = new Map<ChatId, Set<() => void>>();

  constructor(bus: Pick<NodeBus, 'on'>, clock: Pick<Clock, 'sleep' | 'monotonicMs'>) {
    this.#clock = clock;
    bus.on('playground-changed', ({ chatId }) => {
      for (const wake of this.#waiting.get(chatId) ?? []) wake();
    });
  }

  /**
   * Reads until there is something, after each change of the chat and at least once a second.
   * @returns undefined after `limitMs`, or when the signal aborts
   * @throws what `read` throws
   */
  async until<T>(
    chatId: ChatId,
    limitMs: number,
    read: () => Promise<T | undefined>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const endMs = this.#clock.monotonicMs() + limitMs;
    for (;;) {
      // Before the read, so that a change during it is not missed.
      const change = this.#change(chatId);
      try {
        const found = await read();
        const leftMs = endMs - this.#clock.monotonicMs();
        if (found !== undefined || leftMs <= 0 || signal?.aborted) return found;
        await within(this.#clock, Math.min(leftMs, READ_EVERY_MS), change.promise);
      } finally {
        change.forget();
      }
    }
  }

  #change(chatId: ChatId): { promise: Promise<void>; forget(): void } {
    let wake: () => void = () => undefined;
    const promise = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const waiting = this.#waiting.get(chatId) ?? new Set();
    this.#waiting.set(chatId, waiting.add(wake));
    return {
      promise,
      forget: () => {
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(chatId) === waiting) this.#waiting.delete(chatId);
      },
    };
  }
}
