import { isJidGroup, type WASocket } from '@whiskeysockets/baileys';
import { NotConnectedError, SendRefusedError, SendUncertainError, Wa2aiError } from '../../../core/errors.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { field } from '../field.ts';
import { fileToBaileys, toBaileys } from '../messages/to-baileys.ts';

/** DisconnectReason.connectionClosed: Baileys found the socket closed before it wrote. */
const CONNECTION_CLOSED = 428;
/** What WhatsApp answers about a group that does not exist or is not open to this account. */
const REFUSING = new Set([403, 404, 406, 410]);
/** Baileys asks WhatsApp about devices and groups for a minute at most, so a send that takes longer never ends. */
const SEND_TIMEOUT_MS = 180_000;

export interface SenderOptions {
  clock: Clock;
  /** A send never ended: its connection is to be ended. */
  onSendTimeout(): void;
}

/** Writes messages to an open socket. Sends of one chat are made one at a time by the caller; chats run side by side. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #running = new Set<(error: Error) => void>();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the bytes are written. Baileys lets a send hang for a minute when its socket ends meanwhile; here it
   * ends with the connection.
   * @param content the uploaded form of a message with a file
   * @throws {NotConnectedError} {SendUncertainError} {SendRefusedError} as ChatProvider.send
   */
  async send(message: OutgoingMessage, content: Uint8Array | undefined, socket: WASocket): Promise<void> {
    const done = new AbortController();
    let fail: (error: Error) => void = () => undefined;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    this.#running.add(fail);
    this.#failAfterTimeout(done.signal, fail);
    try {
      await Promise.race([write(message, content, socket), failed]);
    } catch (error) {
      if (isJidGroup(message.to)) forgetKeyRecipients(message.to, socket);
      throw sendError(error, message.accountId);
    } finally {
      done.abort();
      this.#running.delete(fail);
    }
  }

  connectionClosed(): void {
    const error = new SendUncertainError('The connection ended while a message was being sent.');
    for (const fail of this.#running) fail(error);
    this.#running.clear();
  }

  #failAfterTimeout(done: AbortSignal, fail: (error: Error) => void): void {
    const { clock, onSendTimeout } = this.#options;
    clock.sleep(SEND_TIMEOUT_MS, done).then(
      () => {
        fail(new SendUncertainError('Sending did not end in three minutes; the message may have gone out.'));
        onSendTimeout();
      },
      () => undefined,
    );
  }
}

async function write(
  message: OutgoingMessage,
  content: Uint8Array | undefined,
  socket: WASocket,
): Promise<void> {
  if (message.media) {
    const { jid, file, options } = fileToBaileys(message, content);
    await socket.relayMessage(jid, file, options);
  } else {
    const { jid, content: text, options } = toBaileys(message);
    await socket.sendMessage(jid, text, options);
  }
}

/**
 * Baileys records who has the group key before the message that brings it is written. After a failed send some members
 * may not have it, so the next message brings it to everybody again.
 */
function forgetKeyRecipients(group: string, { authState }: WASocket): void {
  // When storage fails too, members who lack the key ask for the message again.
  authState.keys.set({ 'sender-key-memory': { [group]: null } })?.catch(() => undefined);
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
