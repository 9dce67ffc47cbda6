import type { proto } from '@whiskeysockets/baileys';
import { NotConnectedError, SendRefusedError, SendUncertainError, Wa2aiError } from '../../../core/errors.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { SentMessage } from '../../../core/ports/outbox.ts';
import { field } from '../connection/disconnect-table.ts';
import { type FileSend, fileToBaileys, type TextSend, toBaileys, toProto } from '../messages/to-baileys.ts';
import { KeyedLock } from '../signal/keyed-lock.ts';

/** DisconnectReason.connectionClosed: Baileys found the socket closed before it wrote. */
const CONNECTION_CLOSED = 428;
/** What WhatsApp answers about a group that is not there or not open to this account. */
const REFUSING = new Set([403, 404, 406, 410]);

/**
 * Baileys asks WhatsApp about devices and groups for a minute at most, so a send that takes longer never ends. It would hold
 * its chat, and whoever waits for the account to be given up.
 */
const HUNG_MS = 180_000;

export interface SendLaneOptions {
  clock: Clock;
  /** A send never ended: its connection is of no more use, since the next ones would wait behind it. */
  onHung(): void;
}

/** Writes one message to an open socket. */
export type WriteMessage = (send: TextSend | FileSend) => Promise<unknown>;

/** Sends, one at a time in each chat: concurrent calls of Baileys' sendMessage overtake each other. */
export class SendLane {
  readonly #options: SendLaneOptions;
  readonly #locks = new KeyedLock();
  readonly #underway = new Set<(error: Error) => void>();

  constructor(options: SendLaneOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the bytes are written. Baileys lets a send hang for a minute when its socket ends meanwhile; here it
   * ends with the connection.
   * @param content the uploaded form of a message with a file
   * @param open gives the way to the open socket; throws NotConnectedError when there is none
   * @throws {NotConnectedError} {SendUncertainError} {SendRefusedError} as ChatProvider.send
   */
  async send(
    message: OutgoingMessage,
    content: Uint8Array | undefined,
    open: () => WriteMessage,
  ): Promise<void> {
    const send = message.media ? fileToBaileys(message, content) : toBaileys(message);
    await this.#locks.run([message.to], async () => {
      const write = open();
      let end: ((error: Error) => void) | undefined;
      const ended = new Promise<never>((_, reject) => {
        end = reject;
        this.#underway.add(reject);
      });
      const done = new AbortController();
      this.#endWhenHung(done.signal, end);
      try {
        await Promise.race([write(send), ended]);
      } catch (error) {
        throw sendError(error, message.accountId);
      } finally {
        done.abort();
        if (end) this.#underway.delete(end);
      }
    });
  }

  #endWhenHung(done: AbortSignal, end: ((error: Error) => void) | undefined): void {
    const { clock, onHung } = this.#options;
    clock.sleep(HUNG_MS, done).then(
      () => {
        end?.(new SendUncertainError('Sending did not end in three minutes; the message may have gone out.'));
        onHung();
      },
      () => undefined,
    );
  }

  connectionClosed(): void {
    for (const end of this.#underway) {
      end(new SendUncertainError('The connection ended while a message was being sent.'));
    }
    this.#underway.clear();
  }

  /** For `getMessage`: undefined when the id is unknown, which ends the retry; an empty content would be sent instead. */
  async contentOf(
    waMessageId: string | null | undefined,
    find: (waMessageId: string) => Promise<SentMessage | undefined>,
  ): Promise<proto.IMessage | undefined> {
    if (!waMessageId) return undefined;
    const sent = await find(waMessageId);
    return sent && toProto(sent.message, sent.content);
  }
}

function sendError(error: unknown, accountId: string): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  if (field(field(error, 'output'), 'statusCode') === CONNECTION_CLOSED) {
    return new NotConnectedError(accountId, { cause: error });
  }
  const code = field(error, 'data');
  if (typeof code === 'number' && REFUSING.has(code)) {
    return new SendRefusedError(`WhatsApp did not take the message for this chat (${code}).`, {
      cause: error,
    });
  }
  return new SendUncertainError('Sending failed on the way; the message may have gone out.', {
    cause: error,
  });
}
