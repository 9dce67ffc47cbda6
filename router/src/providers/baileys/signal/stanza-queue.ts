import { AsyncResource } from 'node:async_hooks';
import type { BinaryNode } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/ports/logger.ts';
import { ciphertextsOf } from '../messages/stanza.ts';

/** Enough for one commit to serve many, few enough that a chat without a backlog need not wait for the others'. */
const MAX_AT_BAILEYS = 100;
const MAX_HELD_BYTES = 32 * 1024 * 1024;
/** What a held stanza takes beside its ciphertexts. */
const STANZA_BYTES = 2_500;

export interface StanzaQueueOptions {
  /** Names the chat of a message stanza. */
  chatOf(attrs: BinaryNode['attrs']): string;
  /** Gives a stanza to its listeners, Baileys among them. */
  emit(event: StanzaEvent, node: BinaryNode): void;
  /** Some had to be dropped and Baileys has taken up the rest: a new connection brings them again. */
  onShort(): void;
  log: Logger;
}

/** Baileys' events that wait here: a message, and the end of those that had waited while the device was away. */
export type StanzaEvent = 'CB:message' | 'CB:ib,,offline';

/**
 * Holds message stanzas back while Baileys has enough of them. It takes everything that is read off the socket, one
 * message after the other, and what waits for its turn there takes ten times the memory of a stanza. Here the chats take
 * turns, so that one with a thousand messages does not keep the others waiting; one chat's keep their order. All else
 * that WhatsApp says passes: among it are answers that Baileys waits for, which is why reading on cannot stop.
 *
 * When the held ones get too large, the chat with the most loses its last ones and what follows them. Nobody acknowledged
 * them: WhatsApp delivers them again over a new connection, which is asked for as soon as what was held then is done.
 * One for each socket.
 */
export class StanzaQueue {
  readonly #options: StanzaQueueOptions;
  /** By name, the one whose turn is next first. */
  readonly #chats = new Map<string, HeldChat>();
  /** Ciphertexts, the first of each stanza, that Baileys has not begun to decrypt. */
  readonly #atBaileys = new Set<Uint8Array>();
  /** Made outside every key transaction, so that no stanza is handled as a part of one. */
  readonly #context = new AsyncResource('wa2ai-stanza-queue');
  #heldBytes = 0;
  #lastNumber = 0;
  #offlineEnd: (Mark & { node: BinaryNode }) | undefined;
  /** Chats that lost some. */
  readonly #shortChats = new Set<string>();
  #short: Mark | undefined;
  #isGoingOn = false;
  #isClosed = false;

  constructor(options: StanzaQueueOptions) {
    this.#options = options;
  }

  /** @returns true: the event is kept, and emitted when its turn comes, or dropped */
  keeps(event: string | symbol, node: unknown): boolean {
    if (event === 'CB:message') return this.#keepsMessage(node as BinaryNode);
    if (event === 'CB:ib,,offline') return this.#keepsOfflineEnd(node as BinaryNode);
    return false;
  }

  /** Baileys has the stanza and will come to decrypt it. */
  awaits(node: BinaryNode): void {
    const [ciphertext] = ciphertextsOf(node);
    if (ciphertext) this.#atBaileys.add(ciphertext);
  }

  /** Baileys' turn to decrypt this has come. */
  begun(ciphertext: Uint8Array): void {
    if (!this.#atBaileys.delete(ciphertext) || this.#isGoingOn) return;
    if (this.#chats.size === 0 && !this.#short) return;
    this.#isGoingOn = true;
    // not within the work on another stanza
    setImmediate(() => this.#context.runInAsyncScope(() => this.#goOn()));
  }

  /**
   * The connection is gone: what is held was not acknowledged, and WhatsApp delivers it again. So is what Baileys still
   * reads of the last bytes: it would decrypt it, and nobody would note the plaintext.
   */
  close(): void {
    this.#isClosed = true;
    this.#chats.clear();
    this.#atBaileys.clear();
  }

  #keepsMessage(node: BinaryNode): boolean {
    if (this.#isClosed) return true;
    const name = this.#options.chatOf(node.attrs);
    // It would come before those that its chat lost.
    if (this.#shortChats.has(name)) return true;
    if (this.#chats.size === 0 && this.#hasRoom()) return false;
    this.#hold(name, node);
    while (this.#heldBytes > MAX_HELD_BYTES) this.#dropOne();
    return true;
  }

  #keepsOfflineEnd(node: BinaryNode): boolean {
    if (this.#isClosed || this.#short) return true;
    const mark = this.#markHere();
    if (mark.before === 0) return false;
    this.#offlineEnd = { ...mark, node };
    return true;
  }

  /** Before a new connection Baileys is to end what it has. */
  #hasRoom(): boolean {
    return this.#atBaileys.size < MAX_AT_BAILEYS && this.#short?.before !== 0;
  }

  #hold(name: string, node: BinaryNode): void {
    const chat = this.#chats.get(name) ?? { name, stanzas: [], bytes: 0 };
    this.#chats.set(name, chat);
    const bytes = ciphertextsOf(node).reduce((sum, { byteLength }) => sum + byteLength, STANZA_BYTES);
    this.#lastNumber += 1;
    chat.stanzas.push({ node, number: this.#lastNumber, bytes });
    chat.bytes += bytes;
    this.#heldBytes += bytes;
  }

  #dropOne(): void {
    let largest: HeldChat | undefined;
    for (const chat of this.#chats.values()) if (!largest || chat.bytes > largest.bytes) largest = chat;
    const stanza = largest?.stanzas.pop();
    if (!largest || !stanza) return;
    this.#letGo(largest, stanza);
    this.#shortChats.add(largest.name);
    if (this.#short) {
      passes(this.#short, stanza);
      return;
    }
    // The end of what had waited comes with the next connection, too.
    this.#offlineEnd = undefined;
    this.#short = this.#markHere();
    this.#options.log.warn(
      { heldBytes: this.#heldBytes },
      'more messages came than memory is meant to hold; WhatsApp is to deliver the rest again',
    );
  }

  #goOn(): void {
    this.#isGoingOn = false;
    if (this.#isClosed) return;
    while (this.#hasRoom()) {
      const [chat] = this.#chats.values();
      const stanza = chat?.stanzas.shift();
      if (!chat || !stanza) break;
      // Its next turn is after the others'.
      this.#chats.delete(chat.name);
      this.#chats.set(chat.name, chat);
      this.#letGo(chat, stanza);
      this.#options.emit('CB:message', stanza.node);
      this.#wentOn(stanza);
    }
    if (this.#short?.before === 0 && this.#atBaileys.size === 0) this.#options.onShort();
  }

  #letGo(chat: HeldChat, { bytes }: HeldStanza): void {
    chat.bytes -= bytes;
    this.#heldBytes -= bytes;
    if (chat.stanzas.length === 0) this.#chats.delete(chat.name);
  }

  #wentOn(stanza: HeldStanza): void {
    if (this.#short) passes(this.#short, stanza);
    const end = this.#offlineEnd;
    if (!end || !passes(end, stanza)) return;
    this.#offlineEnd = undefined;
    this.#options.emit('CB:ib,,offline', end.node);
  }

  #markHere(): Mark {
    let before = 0;
    for (const { stanzas } of this.#chats.values()) before += stanzas.length;
    return { lastNumber: this.#lastNumber, before };
  }
}

interface HeldChat {
  name: string;
  stanzas: HeldStanza[];
  bytes: number;
}

interface HeldStanza {
  node: BinaryNode;
  /** In the order of arrival. */
  number: number;
  bytes: number;
}

/** A moment in the order of arrival. */
interface Mark {
  lastNumber: number;
  /** Stanzas still held that had arrived by then. */
  before: number;
}

/** The stanza is not held any more. @returns whether it was the last before the mark */
function passes(mark: Mark, { number }: HeldStanza): boolean {
  if (number > mark.lastNumber) return false;
  mark.before -= 1;
  return mark.before === 0;
}
