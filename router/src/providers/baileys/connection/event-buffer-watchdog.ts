import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';

/** What is decrypted is told by Baileys within this time, or its event buffer is stuck. */
const TOLD_WITHIN_MS = 8_000;
/** A stanza that is not decrypted by then is behind something that hangs. */
const DECRYPTED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 2_000;
const MAX_WATCHED = 10_000;

export interface UpsertWatchOptions {
  /** Makes Baileys tell what it holds back. */
  flush(): void;
  breakOff(reason: string): void;
  /** How long the oldest stanza waits for its decryption, in milliseconds. */
  oldestOpenMs(): number;
  clock: Clock;
  log: Logger;
}

/**
 * Compares the stanzas that came in with the events that came out of one connection. Baileys holds events back while it
 * believes that offline messages are still coming, and may do so for good: receipts, names and group changes then stand
 * still. It is made to let go; a connection that decrypts nothing any more is broken off.
 */
export class EventBufferWatchdog {
  readonly #options: UpsertWatchOptions;
  readonly #untold = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UpsertWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#untold.clear();
  }

  /** A message was decrypted and Baileys has yet to tell it. */
  expect(key: string): void {
    if (this.#untold.size < MAX_WATCHED) this.#untold.set(key, this.#options.clock.monotonicMs());
  }

  told(key: string): void {
    this.#untold.delete(key);
  }

  #look(): void {
    const { clock, log, flush, breakOff, oldestOpenMs } = this.#options;
    if (oldestOpenMs() > DECRYPTED_WITHIN_MS) {
      breakOff('Messages came in and none was decrypted any more');
      return;
    }
    const nowMs = clock.monotonicMs();
    const late = [...this.#untold].filter(([, sinceMs]) => nowMs - sinceMs > TOLD_WITHIN_MS);
    if (late.length === 0) return;
    // Told once: an event that Baileys will never tell must not make it let go for ever.
    for (const [key] of late) this.#untold.delete(key);
    log.warn({ messages: late.length }, 'Baileys held events back; it was made to let go');
    flush();
  }
}
