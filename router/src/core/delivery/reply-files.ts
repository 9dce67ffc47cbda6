import { SendRefusedError } from '../errors.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { QueuedReply } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import { Slots } from '../slots.ts';

/** Uploads of one file in all before its row is dead, and the wait after the first that failed; it doubles. */
const MAX_UPLOADS = 5;
const UPLOAD_BACKOFF_MS = 2_000;
/** Files in memory at once, however many chats wait for one. */
const UPLOADS_AT_ONCE = 4;

export interface ReplyFilesDeps {
  outbox: Pick<Outbox, 'fileOf' | 'keepContent' | 'markDead' | 'release' | 'hold'>;
  provider: Pick<ChatProvider, 'upload'>;
}

/** The files of replies on their way to WhatsApp, a few at a time. */
export class ReplyFiles {
  readonly #deps: ReplyFilesDeps;
  readonly #slots = new Slots(UPLOADS_AT_ONCE);
  /** Failed uploads by row, while this process lives. */
  readonly #failures = new Map<string, number>();

  constructor(deps: ReplyFilesDeps) {
    this.#deps = deps;
  }

  /**
   * The uploaded form of a reply's file, kept before anything is sent, so that every try sends the very same message.
   * @throws {UploadFailedError} {SendRefusedError} {StorageUnavailableError}
   */
  contentOf(reply: QueuedReply): Promise<Uint8Array> {
    return this.#slots.run(() => this.#contentOf(reply));
  }

  async #contentOf({ outboxId, message }: QueuedReply): Promise<Uint8Array> {
    const { outbox, provider } = this.#deps;
    const file = await outbox.fileOf(outboxId);
    if (!file) throw new SendRefusedError('The file of the message is not stored.');
    if (file.content) return file.content;
    const content = await outbox.keepContent(outboxId, await provider.upload(message, file.bytes));
    this.#failures.delete(outboxId);
    return content;
  }

  /** Nothing was sent: the row waits a while, and with it what is behind it in its chat. */
  async uploadFailed({ outboxId }: QueuedReply, reason: string, log: Logger): Promise<void> {
    const { outbox } = this.#deps;
    const failures = (this.#failures.get(outboxId) ?? 0) + 1;
    if (failures >= MAX_UPLOADS) {
      this.#failures.delete(outboxId);
      await outbox.markDead(outboxId, `${reason} It was tried ${failures} times.`);
      log.error({ reason, failures }, 'file of a reply could not be uploaded');
      return;
    }
    this.#failures.set(outboxId, failures);
    await outbox.release(outboxId, reason);
    await outbox.hold(outboxId, UPLOAD_BACKOFF_MS * 2 ** (failures - 1), reason);
    log.warn({ reason, failures }, 'file of a reply was not uploaded; it is tried again');
  }
}
