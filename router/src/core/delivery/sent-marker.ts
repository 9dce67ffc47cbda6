import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';
import { replyFields } from './reply-fields.ts';

/** Most acks come sooner than this and say more than that the bytes were written: one write is enough for both. */
const ACK_GRACE_MS = 250;

export interface SentMarkerDeps {
  outbox: Pick<Outbox, 'markSent'>;
  clock: Clock;
  log: Logger;
}

/** Marks replies as sent in the outbox, unless WhatsApp acknowledges them within 250 ms. */
export class SentMarker {
  readonly #deps: SentMarkerDeps;
  /** Rows whose bytes are written and whose ack did not come yet, by WhatsApp id. */
  readonly #unmarked = new Map<string, QueuedReply>();
  #marking: Promise<void> = Promise.resolve();
  #timer: Promise<void> | undefined;

  constructor(deps: SentMarkerDeps) {
    this.#deps = deps;
  }

  /** The bytes of a reply are written. */
  sent(reply: QueuedReply): void {
    this.#unmarked.set(reply.message.waMessageId, reply);
    this.#timer ??= this.#deps.clock.sleep(ACK_GRACE_MS).then(() => {
      this.#timer = undefined;
      return this.finish();
    });
  }

  /** WhatsApp acknowledged these; the acks are stored by the caller. */
  acknowledged(waMessageIds: readonly string[]): void {
    for (const waMessageId of waMessageIds) this.#unmarked.delete(waMessageId);
  }

  /**
   * Resolves when all sends so far are marked. Never rejects: a row that is not marked is still `sending`, and is sent again
   * with the same id when no ack comes.
   */
  finish(): Promise<void> {
    this.#marking = this.#marking.then(async () => {
      for (const [waMessageId, reply] of [...this.#unmarked]) {
        this.#unmarked.delete(waMessageId);
        try {
          await this.#deps.outbox.markSent(reply.outboxId);
        } catch (error) {
          this.#deps.log.warn({ err: error, ...replyFields(reply) }, 'cannot store that a reply was sent');
        }
      }
    });
    return this.#marking;
  }
}
