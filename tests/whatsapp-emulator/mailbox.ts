import type { BinaryNode } from '@whiskeysockets/baileys';
import { EmulatorError } from './emulator-error.ts';
import { userJid } from './nodes.ts';

const MAX_WAITING = 20_000;

/** The stanzas that one device has not acknowledged, oldest first. */
export class Mailbox {
  readonly #waiting = new Map<string, BinaryNode>();
  /** Messages with a retry receipt whose error ack is still expected; that ack belongs to the first delivery. */
  readonly #retried = new Set<string>();

  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Keeps a stanza until it is acknowledged; one with the same key replaces the earlier one.
   * @throws {EmulatorError} when 20,000 are waiting, which means that no client reads them
   */
  put(stanza: BinaryNode): void {
    if (this.#waiting.size >= MAX_WAITING)
      throw new EmulatorError(`${MAX_WAITING} stanzas wait for one device`);
    this.#waiting.set(keyOf(stanza.tag, stanza.attrs, stanza.attrs.from), stanza);
  }

  /** The waiting stanzas, oldest first, each marked `offline` as after a reconnect. */
  offline(): BinaryNode[] {
    return [...this.#waiting.values()].map((stanza, index) => ({
      ...stanza,
      attrs: { ...stanza.attrs, offline: `${index}` },
    }));
  }

  /** The number of waiting stanzas with a tag. */
  count(tag: string): number {
    return [...this.#waiting.values()].filter((stanza) => stanza.tag === tag).length;
  }

  /** Applies `<ack class="...">` of the client. @returns the acknowledged stanza, if one was waiting */
  acknowledge(ack: BinaryNode): BinaryNode | undefined {
    const key = keyOf(ack.attrs.class ?? '', ack.attrs, ack.attrs.to);
    if (ack.attrs.error && this.#retried.delete(key)) return undefined;
    return this.#remove(ack.attrs.class ?? '', ack.attrs, ack.attrs.to);
  }

  /** Applies a receipt of the client for one message. @returns the acknowledged message, if one was waiting */
  settle(receipt: BinaryNode, id: string): BinaryNode | undefined {
    const attrs = { ...receipt.attrs, id };
    if (receipt.attrs.type === 'retry') this.#retried.add(keyOf('message', attrs, receipt.attrs.to));
    return this.#remove('message', attrs, receipt.attrs.to);
  }

  #remove(tag: string, attrs: BinaryNode['attrs'], chat: string | undefined): BinaryNode | undefined {
    const key = this.#waiting.has(keyOf(tag, attrs, chat))
      ? keyOf(tag, attrs, chat)
      : this.#ownMessageKey(tag, attrs);
    const stanza = key === undefined ? undefined : this.#waiting.get(key);
    if (key !== undefined) this.#waiting.delete(key);
    return stanza;
  }

  /** Receipts for messages of one's own phone name the chat, not the sender; some name neither. */
  #ownMessageKey(tag: string, attrs: BinaryNode['attrs']): string | undefined {
    if (tag !== 'message') return undefined;
    for (const [key, stanza] of this.#waiting) {
      const isOwn = stanza.attrs.recipient !== undefined || stanza.attrs.category === 'peer';
      if (isOwn && stanza.tag === tag && stanza.attrs.id === attrs.id) return key;
    }
    return undefined;
  }
}

/** Messages are identified by chat and id; receipts also by sender and type. */
function keyOf(tag: string, attrs: BinaryNode['attrs'], chat: string | undefined): string {
  const sender = attrs.participant ? userJid(attrs.participant) : '';
  const kind = tag === 'receipt' ? (attrs.type ?? '') : '';
  return [tag, attrs.id, userJid(chat ?? ''), sender, kind].join(' ');
}
