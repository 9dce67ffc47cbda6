import type { Clock } from '../ports/clock.ts';
import type { QueuedReply } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';

/** An ack mostly comes sooner than this, and says more than that the bytes were written: then one note does for both. */
const ACK_GRACE_MS = 250;

export interface SentNotesDeps {
  outbox: Pick<Outbox, 'markSent'>;
  /** With it, a row is noted as sent only when its ack takes longer than 250 ms; without, at once. */
  clock?: Clock;
  log: Logger;
}

/** Notes in the outbox that replies were sent, unless their acks, which others record, say so sooner. */
export class SentNotes {
  readonly #deps: SentNotesDeps;
  /** Rows whose bytes are written and whose ack did not come yet, by WhatsApp id. */
  readonly #unnoted = new Map<string, QueuedReply>();
  #noting: Promise<void> = Promise.resolve();
  #timer: Promise<void> | undefined;

  constructor(deps: SentNotesDeps) {
    this.#deps = deps;
  }

  /** The bytes are written. @throws {StorageUnavailableError} without a clock only */
  sent(reply: QueuedReply): Promise<void> | undefined {
    const { clock, outbox } = this.#deps;
    if (!clock) return outbox.markSent(reply.outboxId);
    this.#unnoted.set(reply.message.waMessageId, reply);
    this.#timer ??= clock.sleep(ACK_GRACE_MS).then(() => {
      this.#timer = undefined;
      return this.finish();
    });
    return undefined;
  }

  /** WhatsApp acknowledged these: whoever records the acks has noted the sends with them. */
  acknowledged(waMessageIds: readonly string[]): void {
    for (const waMessageId of waMessageIds) this.#unnoted.delete(waMessageId);
  }

  /**
   * Resolves when all sends so far are noted. Never rejects: a row that is not noted is still `sending`, and goes again
   * with the same id if no ack comes.
   */
  finish(): Promise<void> {
    this.#noting = this.#noting.then(async () => {
      for (const [waMessageId, { outboxId }] of [...this.#unnoted]) {
        this.#unnoted.delete(waMessageId);
        try {
          await this.#deps.outbox.markSent(outboxId);
        } catch (error) {
          this.#deps.log.warn({ err: error, outboxId }, 'reply state not noted');
        }
      }
    });
    return this.#noting;
  }
}
