import type { BinaryNode } from '@whiskeysockets/baileys';

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
  readonly #waiting = new Map<string, { message: Undecryptable; failures: number; timer: NodeJS.Timeout }>();

  constructor(giveUp: (message: Undecryptable) => void) {
    this.#giveUp = giveUp;
  }

  failed(message: Undecryptable): void {
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

  #end(key: string): void {
    const entry = this.#waiting.get(key);
    if (!entry) return;
    this.resolved(key);
    this.#giveUp(entry.message);
  }
}
