import { LeaseLostError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Journal } from '../../../core/ports/journal.ts';
import type { Logger } from '../../../core/ports/logger.ts';

/** After a receipt was written it may still be lost with the connection, and WhatsApp delivers the stanza again. */
const KEEP_MS = 5_000;
/** A stanza that was received and is not delivered again by then will not be. */
const KEEP_WITHOUT_RECEIPT_MS = 10 * 60_000;
const MAX_PER_STATEMENT = 1_000;

interface Kept {
  receivedAtMs: number | undefined;
  receiptAtMs: number | undefined;
  /** WhatsApp has the receipt, and so will not deliver it again. */
  isSettled: boolean;
}

/**
 * Drops journal entries that are of no more use: the inbox has the message, and WhatsApp the receipt. Many at a time and
 * some seconds later.
 */
export class JournalTrim {
  readonly #journal: Journal;
  readonly #accountId: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #kept = new Map<string, Kept>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(journal: Journal, accountId: string, clock: Clock, log: Logger) {
    this.#journal = journal;
    this.#accountId = accountId;
    this.#clock = clock;
    this.#log = log;
  }

  /** The inbox has the message of these entries. */
  received(hashes: readonly string[]): void {
    for (const hash of hashes) this.#keptOf(hash).receivedAtMs ??= this.#clock.monotonicMs();
  }

  /** Baileys has the plaintext of this entry and sends the receipt. */
  receipted(hash: string): void {
    this.#keptOf(hash).receiptAtMs = this.#clock.monotonicMs();
  }

  /** WhatsApp did not deliver these again with all else that waited: they go as soon as the inbox has their messages. */
  settled(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#keptOf(hash).isSettled = true;
    this.#working = this.#working.then(() => this.#trim());
  }

  /** Drops what is due; a receipt of the last seconds may have been lost with the connection that just ended. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#working = this.#working.then(() => this.#trim());
    await this.#working;
  }

  #keptOf(hash: string): Kept {
    let kept = this.#kept.get(hash);
    if (!kept) {
      kept = { receivedAtMs: undefined, receiptAtMs: undefined, isSettled: false };
      this.#kept.set(hash, kept);
      this.#timer ??= this.#later();
    }
    return kept;
  }

  #later(): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#working.then(() => this.#trim());
      void this.#working.then(() => {
        if (this.#kept.size > 0) this.#timer ??= this.#later();
      });
    }, KEEP_MS);
    timer.unref();
    return timer;
  }

  async #trim(): Promise<void> {
    const due: string[] = [];
    for (const [hash, kept] of this.#kept) {
      if (this.#isDue(kept)) due.push(hash);
      else if (this.#isForgotten(kept)) this.#kept.delete(hash);
    }
    for (let start = 0; start < due.length; start += MAX_PER_STATEMENT) {
      const batch = due.slice(start, start + MAX_PER_STATEMENT);
      try {
        await this.#journal.forget(this.#accountId, batch);
      } catch (error) {
        if (error instanceof LeaseLostError) {
          // They are the next owner's, who may need them for what WhatsApp delivers again.
          this.#kept.clear();
          return;
        }
        // They are answered again at the next start, where the inbox knows them.
        this.#log.warn({ err: error }, 'journal not trimmed; it is tried again');
        return;
      }
      for (const hash of batch) this.#kept.delete(hash);
    }
  }

  #isDue({ receivedAtMs, receiptAtMs, isSettled }: Kept): boolean {
    if (receivedAtMs === undefined) return false;
    if (isSettled) return true;
    const nowMs = this.#clock.monotonicMs();
    if (receiptAtMs === undefined) return nowMs - receivedAtMs >= KEEP_WITHOUT_RECEIPT_MS;
    return nowMs - Math.max(receivedAtMs, receiptAtMs) >= KEEP_MS;
  }

  /** Core would not take the message: its entry stays in the journal for the next start. */
  #isForgotten({ receivedAtMs, receiptAtMs }: Kept): boolean {
    return (
      receivedAtMs === undefined &&
      receiptAtMs !== undefined &&
      this.#clock.monotonicMs() - receiptAtMs >= KEEP_WITHOUT_RECEIPT_MS
    );
  }
}
