import { NotConnectedError, StorageUnavailableError, UploadFailedError, Wa2aiError } from '../errors.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Clock } from '../ports/clock.ts';
import type { QueuedReply } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import { ReplyFiles } from './reply-files.ts';
import type { SentNotes } from './sent-notes.ts';

/**
 * Sends of a message, one after the other, that may not have gone out although the account is open (WhatsApp did not say
 * which devices a person has, or who is in a group), and the wait after the first, which grows with each. What is behind
 * it in its chat waits as long: sent before, it would stand before it in the chat.
 */
const MAX_UNCERTAIN = 3;
const UNCERTAIN_WAIT_MS = 2_000;
/** Before the database, which did not answer, is asked again. */
const STORAGE_WAIT_MS = 1_000;

export interface SendReplyDeps {
  outbox: Outbox;
  provider: Pick<ChatProvider, 'send' | 'upload' | 'status'>;
  notes: SentNotes;
  /** Something can be sent: the account is open, if limited. */
  isConnected(): boolean;
  /** There may be rows that were not seen yet. */
  look(): void;
  /** Aborted: nothing is waited for any longer. */
  finishing: AbortSignal;
  /** Without it nothing is tried a second time. */
  clock?: Clock;
  log: Logger;
}

/** One outbox row on its way to WhatsApp. What is behind it in its chat waits until `send` has resolved. */
export class ReplySending {
  readonly #deps: SendReplyDeps;
  readonly #files: ReplyFiles;

  constructor(deps: SendReplyDeps) {
    this.#deps = deps;
    this.#files = new ReplyFiles(deps);
  }

  /** Never rejects: the rest of the chat goes on whatever became of one row. */
  async send(reply: QueuedReply): Promise<void> {
    const { outboxId, message } = reply;
    const log = this.#deps.log.child({ outboxId, waMessageId: message.waMessageId });
    try {
      for (let attempt = 1; ; attempt++) {
        if ((await this.#sendOnce(reply, log)) !== 'uncertain') return;
        if (attempt >= MAX_UNCERTAIN || !(await this.#isStillConnectedAfter(UNCERTAIN_WAIT_MS * attempt)))
          return;
      }
    } catch (error) {
      // The database did not note the step. The row stays unacknowledged, so it goes again with the same id at the
      // next opening, or its ack moves it on.
      log.warn({ err: error }, 'reply state not noted');
    }
  }

  async #sendOnce(reply: QueuedReply, log: Logger): Promise<'uncertain' | 'ended'> {
    const { provider, notes } = this.#deps;
    const { message } = reply;
    if (!(await this.#whenAnswered(() => this.#maySend(reply, log), log))) return 'ended';
    try {
      const content = message.media && (await this.#whenAnswered(() => this.#files.contentOf(reply), log));
      await provider.send(message, content);
    } catch (error) {
      return this.#sendFailed(reply, error, log);
    }
    log.debug({}, 'reply sent');
    await notes.sent(reply);
    return 'ended';
  }

  /** Notes the row as `sending`; false when it is not to be sent now. */
  async #maySend(reply: QueuedReply, log: Logger): Promise<boolean> {
    if (await this.#isOnHold(reply, log)) return false;
    if (await this.#deps.outbox.markSending(reply.outboxId)) return true;
    // Past sending, or an older one of its chat came from another node and was not seen here yet.
    this.#deps.look();
    return false;
  }

  /**
   * Asks the database until it answers. It may have taken the note that the row is being sent; what is behind it in its
   * chat could then be sent before it.
   * @throws {StorageUnavailableError} and the account is not open any more: the row goes with the next opening, in its place
   */
  async #whenAnswered<T>(ask: () => Promise<T>, log: Logger): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof StorageUnavailableError)) throw error;
        if (!(await this.#isStillConnectedAfter(STORAGE_WAIT_MS))) throw error;
        log.warn({ err: error }, 'a reply waits for the database');
      }
    }
  }

  /** Time in which an ack may still come, which ends with the connection's or the service's own end. */
  async #isStillConnectedAfter(waitMs: number): Promise<boolean> {
    const { clock, finishing, isConnected } = this.#deps;
    try {
      if (!clock) return false;
      await clock.sleep(waitMs, finishing);
      return isConnected();
    } catch {
      return false;
    }
  }

  /** While WhatsApp limits the account, what goes to people who never wrote waits until the limit is over. */
  async #isOnHold({ outboxId }: QueuedReply, log: Logger): Promise<boolean> {
    const { outbox, provider } = this.#deps;
    const { reason, limitLeftMs } = provider.status();
    if (limitLeftMs === undefined || !(await outbox.isCold(outboxId))) return false;
    await outbox.hold(outboxId, limitLeftMs, reason ?? 'WhatsApp limits this account.');
    log.warn({ limitLeftMs }, 'message to a new contact is on hold: WhatsApp limits this account');
    return true;
  }

  async #sendFailed(reply: QueuedReply, error: unknown, log: Logger): Promise<'uncertain' | 'ended'> {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof NotConnectedError) {
      await this.#deps.outbox.release(reply.outboxId, reason);
      return 'ended';
    }
    if (error instanceof UploadFailedError) {
      await this.#files.uploadFailed(reply, reason, log);
      return 'ended';
    }
    if (error instanceof Wa2aiError && error.disposition === 'dead') {
      await this.#deps.outbox.markDead(reply.outboxId, reason);
      log.error({ reason }, 'reply refused');
      return 'ended';
    }
    // It may have gone out: the row stays in `sending` and goes again, with the same id, unless its ack comes.
    log.warn({ reason }, 'reply may not have gone out; it is sent again with the same id');
    return 'uncertain';
  }
}
