import { MediaError, SendRefusedError, UploadFailedError } from '../errors.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import { Slots } from '../slots.ts';
import type { QueuedReply } from '../turns/turn.ts';

/** Uploads of one file before its row is dead, and the wait after the first failure; it doubles with each. */
const MAX_UPLOADS = 5;
const UPLOAD_BACKOFF_MS = 2_000;
/** Files in memory at once, however many chats wait for one. */
const UPLOADS_AT_ONCE = 4;

export interface ReplyFilesDeps {
  outbox: Pick<Outbox, 'fileOf' | 'keepContent' | 'markDead' | 'release' | 'delay'>;
  provider: Pick<ChatProvider, 'upload'>;
}

/** Uploads the files of replies to WhatsApp, a few at a time. */
export class ReplyFiles {
  readonly #deps: ReplyFilesDeps;
  readonly #slots = new Slots(UPLOADS_AT_ONCE);
  /** Failed uploads by row, in this process. */
  readonly #failures = new Map<string, number>();

  constructor(deps: ReplyFilesDeps) {
    this.#deps = deps;
  }

  /**
   * The uploaded form of a reply's file, stored before anything is sent, so that every attempt sends the same message.
   * @throws {UploadFailedError} {SendRefusedError} {StorageUnavailableError}
   */
  contentOf(reply: QueuedReply): Promise<Uint8Array> {
    return this.#slots.run(() => this.#contentOf(reply));
  }

  async #contentOf({ outboxId, message }: QueuedReply): Promise<Uint8Array> {
    const { outbox, provider } = this.#deps;
    const file = await outbox.fileOf(outboxId).catch(notLoaded);
    if (!file) throw new SendRefusedError('The file of the message is not stored.');
    if (file.content) return file.content;
    const content = await outbox.keepContent(outboxId, await provider.upload(message, file.bytes));
    this.#failures.delete(outboxId);
    return content;
  }

  /**
   * Nothing was sent: the row is delayed, and with it the later messages of its chat.
   * @param store repeats a write until the database answers; until then no later message of the chat may be sent
   */
  async uploadFailed(
    { outboxId }: QueuedReply,
    reason: string,
    log: Logger,
    store: (write: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { outbox } = this.#deps;
    const failures = (this.#failures.get(outboxId) ?? 0) + 1;
    if (failures >= MAX_UPLOADS) {
      this.#failures.delete(outboxId);
      await store(() => outbox.markDead(outboxId, `${reason} There were ${failures} attempts.`));
      log.error({ reason, failures }, 'file of a reply not uploaded, giving up');
      return;
    }
    this.#failures.set(outboxId, failures);
    await store(() => outbox.release(outboxId, reason));
    await store(() => outbox.delay(outboxId, UPLOAD_BACKOFF_MS * 2 ** (failures - 1), reason));
    log.warn({ reason, failures }, 'file of a reply not uploaded, retrying');
  }
}

/** @throws {UploadFailedError} {SendRefusedError} the store has no file, or not now */
function notLoaded(error: unknown): never {
  if (!(error instanceof MediaError)) throw error;
  const Failed = error.disposition === 'retry' ? UploadFailedError : SendRefusedError;
  throw new Failed(error.message, { cause: error });
}
