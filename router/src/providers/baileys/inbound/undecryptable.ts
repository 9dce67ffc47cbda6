import { type BinaryNode, proto, type WAMessage } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/ports/logger.ts';
import { envelopeOf, fillEnvelope, type OwnJids } from '../messages/stanza.ts';

/** A message that could not be decrypted, and may still come: its sender is asked to send it again. */
export interface Undecryptable {
  key: string;
  attrs: BinaryNode['attrs'];
  order: bigint;
}

/** Baileys asks a sender this often (`maxMsgRetryCount`). */
const MAX_FAILURES = 5;
const WAIT_MS = 60_000;
/** More at a time than this, and the oldest is not waited for any longer. */
const MAX_WAITING = 1_000;

/**
 * Waits for messages that could not be decrypted. One whose sender does not send it in readable form within a minute, or
 * whose five retries failed too, is given up, once.
 */
export class UndecryptableWatch {
  readonly #giveUp: (message: Undecryptable) => void;
  readonly #log: Logger;
  readonly #waiting = new Map<string, { message: Undecryptable; failures: number; timer: NodeJS.Timeout }>();
  #count = 0;

  constructor(giveUp: (message: Undecryptable) => void, log: Logger) {
    this.#giveUp = giveUp;
    this.#log = log;
  }

  failed(message: Undecryptable): void {
    this.#countOne();
    const known = this.#waiting.get(message.key);
    if (known) {
      known.failures += 1;
      if (known.failures >= MAX_FAILURES) this.#end(message.key);
      return;
    }
    const timer = setTimeout(() => this.#end(message.key), WAIT_MS);
    timer.unref();
    this.#waiting.set(message.key, { message, failures: 1, timer });
    if (this.#waiting.size > MAX_WAITING) {
      const [oldest] = this.#waiting.keys();
      if (oldest !== undefined) this.#end(oldest);
    }
  }

  /** The message was read after all. */
  resolved(key: string): void {
    clearTimeout(this.#waiting.get(key)?.timer);
    this.#waiting.delete(key);
  }

  /** Gives up all that are waited for. */
  finish(): void {
    for (const key of [...this.#waiting.keys()]) this.#end(key);
  }

  #countOne(): void {
    this.#count += 1;
    // A storm of them is told with the logarithm of its size.
    if (!Number.isInteger(Math.log2(this.#count))) return;
    this.#log.warn(
      { messages: this.#count },
      'messages that cannot be decrypted; their senders are asked to send them again',
    );
  }

  #end(key: string): void {
    const entry = this.#waiting.get(key);
    if (!entry) return;
    this.resolved(key);
    this.#giveUp(entry.message);
  }
}

/**
 * The note of a message that was given up, as Baileys tells one; undefined for a malformed one. Its id is its own: should
 * the text come after all, it must count as new.
 */
export function noteOf(attrs: BinaryNode['attrs'], own: OwnJids): WAMessage | undefined {
  const envelope = envelopeOf(attrs, own);
  if (!envelope) return undefined;
  const message = fillEnvelope(envelope, [], own);
  message.messageStubType = proto.WebMessageInfo.StubType.CIPHERTEXT;
  message.key.id = `${attrs.id}:undecryptable`;
  return message;
}
