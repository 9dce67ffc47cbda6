import { AsyncResource } from 'node:async_hooks';
import type { BinaryNode } from '@whiskeysockets/baileys';
import type { Logger } from '../../core/ports/logger.ts';
import { ciphertextsOf } from './stanza.ts';

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
 * that WhatsApp says passes: among it are answers that Baileys waits for, which is why reading on cannot stop. When the
 * held ones get too large, what comes then is dropped: nobody acknowledged it, so WhatsApp delivers it again. One for
 * each socket.
 */
export class StanzaQueue {
  readonly #options: StanzaQueueOptions;
  /** By chat, the one whose turn is next first. */
  readonly #held = new Map<string, HeldStanza[]>();
  /** Ciphertexts, the first of each stanza, that Baileys has not begun to decrypt. */
  readonly #atBaileys = new Set<Uint8Array>();
  /** Made outside every key transaction, so that no stanza is handled as a part of one. */
  readonly #context = new AsyncResource('wa2ai-stanza-queue');
  #heldBytes = 0;
  #lastNumber = 0;
  #offlineEnd: { node: BinaryNode; lastNumber: number; before: number } | undefined;
  #isGoingOn = false;
  #isShort = false;
  #isClosed = false;

  constructor(options: StanzaQueueOptions) {
    this.#options = options;
  }

  /** @returns true: the event is kept, and emitted when its turn comes */
  keeps(event: string | symbol, node: unknown): boolean {
    if (this.#isClosed) return false;
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
    if (this.#held.size === 0 && !this.#isShort) return;
    this.#isGoingOn = true;
    // not within the work on another stanza
    setImmediate(() => this.#context.runInAsyncScope(() => this.#goOn()));
  }

  /** The connection is gone: what is held was not acknowledged, and WhatsApp delivers it again. */
  close(): void {
    this.#isClosed = true;
    this.#held.clear();
    this.#atBaileys.clear();
  }

  #keepsMessage(node: BinaryNode): boolean {
    // Of one chat, what comes later may not be taken either.
    if (this.#isShort) return true;
    if (this.#held.size === 0 && this.#atBaileys.size < MAX_AT_BAILEYS) return false;
    const bytes = ciphertextsOf(node).reduce((sum, { byteLength }) => sum + byteLength, STANZA_BYTES);
    if (this.#heldBytes + bytes > MAX_HELD_BYTES) {
      this.#isShort = true;
      this.#options.log.warn(
        { heldBytes: this.#heldBytes },
        'more messages came than memory is meant to hold; WhatsApp is to deliver the rest again later',
      );
      return true;
    }
    const chat = this.#options.chatOf(node.attrs);
    this.#lastNumber += 1;
    const stanza: HeldStanza = { node, number: this.#lastNumber, bytes };
    const ofChat = this.#held.get(chat);
    if (ofChat) ofChat.push(stanza);
    else this.#held.set(chat, [stanza]);
    this.#heldBytes += bytes;
    return true;
  }

  #keepsOfflineEnd(node: BinaryNode): boolean {
    if (this.#isShort) return true;
    let before = 0;
    for (const ofChat of this.#held.values()) before += ofChat.length;
    if (before === 0) return false;
    this.#offlineEnd = { node, lastNumber: this.#lastNumber, before };
    return true;
  }

  #goOn(): void {
    this.#isGoingOn = false;
    if (this.#isClosed) return;
    while (this.#atBaileys.size < MAX_AT_BAILEYS) {
      const stanza = this.#next();
      if (!stanza) break;
      this.#options.emit('CB:message', stanza.node);
      this.#wentOn(stanza);
    }
    if (this.#isShort && this.#held.size === 0 && this.#atBaileys.size === 0) this.#options.onShort();
  }

  #next(): HeldStanza | undefined {
    for (const [chat, ofChat] of this.#held) {
      const stanza = ofChat.shift();
      this.#held.delete(chat);
      if (ofChat.length > 0) this.#held.set(chat, ofChat);
      return stanza;
    }
    return undefined;
  }

  #wentOn({ number, bytes }: HeldStanza): void {
    this.#heldBytes -= bytes;
    const end = this.#offlineEnd;
    if (!end || number > end.lastNumber) return;
    end.before -= 1;
    if (end.before > 0) return;
    this.#offlineEnd = undefined;
    this.#options.emit('CB:ib,,offline', end.node);
  }
}

interface HeldStanza {
  node: BinaryNode;
  /** In the order of arrival. */
  number: number;
  bytes: number;
}
