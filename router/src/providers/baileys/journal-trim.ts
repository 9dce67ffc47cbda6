import type { Clock } from '../../core/ports/clock.ts';
import type { Journal } from '../../core/ports/journal.ts';
import type { Logger } from '../../core/ports/logger.ts';

/**
 * How long an entry outlives its message's arrival in the inbox: WhatsApp delivers again what it got no receipt for, and
 * a receipt may have been lost with the connection.
 */
const KEEP_MS = 5_000;
const MAX_PER_STATEMENT = 1_000;

/** Drops journal entries whose messages the inbox has, some seconds later and many at a time. */
export class JournalTrim {
  readonly #journal: Journal;
  readonly #accountId: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #due: Array<{ hash: string; atMs: number }> = [];
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(journal: Journal, accountId: string, clock: Clock, log: Logger) {
    this.#journal = journal;
    this.#accountId = accountId;
    this.#clock = clock;
    this.#log = log;
  }

  add(hashes: readonly string[]): void {
    if (hashes.length === 0) return;
    const atMs = this.#clock.now() + KEEP_MS;
    for (const hash of hashes) this.#due.push({ hash, atMs });
    this.#timer ??= this.#later();
  }

  /** Drops everything that was added, at once. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#working = this.#working.then(() => this.#trim(Number.POSITIVE_INFINITY));
    await this.#working;
  }

  #later(): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#working.then(() => this.#trim(this.#clock.now()));
      void this.#working.then(() => {
        if (this.#due.length > 0) this.#timer ??= this.#later();
      });
    }, KEEP_MS);
    timer.unref();
    return timer;
  }

  async #trim(untilMs: number): Promise<void> {
    for (;;) {
      const batch = this.#due.slice(0, MAX_PER_STATEMENT).filter((entry) => entry.atMs <= untilMs);
      if (batch.length === 0) return;
      try {
        await this.#journal.forget(
          this.#accountId,
          batch.map((entry) => entry.hash),
        );
      } catch (error) {
        // They are answered again at the next start, where the inbox knows them.
        this.#log.warn({ err: error }, 'journal not trimmed; it is tried again');
        return;
      }
      this.#due.splice(0, batch.length);
    }
  }
}
