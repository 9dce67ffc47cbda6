import { isJidGroup, type WAMessageKey, type WASocket } from '@whiskeysockets/baileys';
import { NotConnectedError, SendRefusedError, SendUncertainError, Wa2aiError } from '../../../core/errors.ts';
import { KeyedQueue } from '../../../core/keyed-queue.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { orAbort, within } from '../../../core/time-limit.ts';
import { field } from '../field.ts';
import { specialToBaileys } from '../messages/special-to-baileys.ts';
import { fileToBaileys, textToBaileys, toBaileys } from '../messages/to-baileys.ts';
import type { AuthState } from '../signal/auth-state.ts';

/** DisconnectReason.connectionClosed: Baileys found the socket closed before it wrote. */
const CONNECTION_CLOSED = 428;
/** Error codes of WhatsApp for a group that does not exist or that this account is not a member of. */
const REFUSING = new Set([403, 404, 406, 410]);
/** Baileys waits at most a minute for each query about devices and groups, so a send that takes longer never ends. */
const SEND_TIMEOUT_MS = 180_000;

export interface SenderOptions {
  clock: Clock;
  /** A send did not end: end its connection. */
  onSendTimeout(): void;
  /** The account's record of who has the keys of groups. */
  groupKeys(): AuthState['groupKeys'] | undefined;
}

/**
 * Writes messages to an open socket. The caller sends one message of a chat at a time; chats may send in parallel. What is
 * sent to a group is encrypted and written in the order of the calls, reactions too: the first message with a group key
 * contains it, so members cannot read a later one that arrives earlier.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #running = new Set<AbortController>();
  readonly #groups = new KeyedQueue();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the bytes are written. A send of Baileys hangs for a minute when its socket ends meanwhile; this one
   * rejects when the connection ends.
   * @param content the uploaded form of a message with a file
   * @throws {NotConnectedError} {SendUncertainError} {SendRefusedError} as ChatProvider.send
   */
  async send(message: OutgoingMessage, content: Uint8Array | undefined, socket: WASocket): Promise<void> {
    try {
      await this.#write(message.to, () => write(message, content, socket));
    } catch (error) {
      throw sendError(error, message.accountId);
    }
  }

  /**
   * Resolves when the bytes of a reaction are written.
   * @throws what Baileys throws, and as `send` when the connection ends
   */
  async react(chat: string, react: { text: string; key: WAMessageKey }, socket: WASocket): Promise<void> {
    await this.#write(chat, () => socket.sendMessage(chat, { react }));
  }

  async #write(to: string, write: () => Promise<unknown>): Promise<void> {
    const { clock, onSendTimeout } = this.#options;
    const closed = new AbortController();
    this.#running.add(closed);
    const begin = () => {
      closed.signal.throwIfAborted();
      return orAbort(
        write().then(() => true),
        closed.signal,
      );
    };
    try {
      const written = isJidGroup(to)
        ? orAbort(
            this.#groups.run(to, () => this.#writeToGroup(to, begin)),
            closed.signal,
          )
        : begin();
      if (await within(clock, SEND_TIMEOUT_MS, written)) return;
      onSendTimeout();
      throw new SendUncertainError('Sending did not end within 3 minutes; the message may have been sent.');
    } finally {
      this.#running.delete(closed);
    }
  }

  async #writeToGroup(group: string, write: () => Promise<boolean>): Promise<boolean> {
    const { groupKeys } = this.#options;
    try {
      const isWritten = await write();
      groupKeys()?.written(group);
      return isWritten;
    } catch (error) {
      groupKeys()?.failed(group);
      throw error;
    }
  }

  connectionClosed(): void {
    const error = new SendUncertainError('The connection ended while a message was being sent.');
    for (const closed of this.#running) closed.abort(error);
  }
}

async function write(
  message: OutgoingMessage,
  content: Uint8Array | undefined,
  socket: WASocket,
): Promise<void> {
  if (message.special) {
    const special = specialToBaileys(message, message.special);
    await socket.relayMessage(special.jid, special.message, special.options);
  } else if (message.media) {
    const { jid, file, options } = fileToBaileys(message, content);
    await socket.relayMessage(jid, file, options);
  } else if (message.quote || message.mentions || message.timerSeconds) {
    const { jid, file, options } = textToBaileys(message);
    await socket.relayMessage(jid, file, options);
  } else {
    const { jid, content: text, options } = toBaileys(message);
    await socket.sendMessage(jid, text, options);
  }
}

function sendError(error: unknown, accountId: string): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  if (field(field(error, 'output'), 'statusCode') === CONNECTION_CLOSED) {
    return new NotConnectedError(accountId, { cause: error });
  }
  const code = field(error, 'data');
  if (typeof code === 'number' && REFUSING.has(code)) {
    return new SendRefusedError(`WhatsApp refused the message for this chat (${code}).`, {
      cause: error,
    });
  }
  return new SendUncertainError('Sending failed after it began; the message may have been sent.', {
    cause: error,
  });
}
