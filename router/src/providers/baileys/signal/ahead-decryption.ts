import type { BinaryNode } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { ciphertextsOf, senderOf } from '../messages/stanza.ts';

/** What a stanza says of its ciphertexts. */
export interface EarlyWork {
  /** Who encrypted them, device included. */
  author: string;
  /** The author's other address, as the stanza names it. */
  alternate: string | undefined;
  /** The chat's address; a group has a sender key for each author, which comes in a part of its own. */
  chat: string;
  isGroup: boolean;
  /** In the order in which they are to be decrypted. */
  parts: EarlyPart[];
}

export interface EarlyPart {
  kind: 'pkmsg' | 'msg' | 'skmsg';
  ciphertext: Uint8Array;
}

/** The stanza is no case for a head start: Baileys must see it first. */
export class NotNowError extends Error {}

/** One stanza's head start; its parts are decrypted one after the other. */
interface Early {
  state: 'waiting' | 'running' | 'cancelled';
  plaintexts: Map<Uint8Array, Promise<Uint8Array>>;
}

/** Stanzas of one sender, numbered as they came; a later one starts when the earlier ones have ended. */
interface Sender {
  jid: string;
  count: number;
  tail: Promise<unknown>;
  /** Baileys has ended with every stanza up to this one. */
  endedUpTo: number;
  waiting: Map<number, () => void>;
}

/** Rejects with NotNowError for what Baileys should see first. */
export type DecryptEarly = (work: EarlyWork, part: EarlyPart) => Promise<Uint8Array>;

const MAX_UNDER_WAY = 500;
const MAX_COLD = 1_000;

/**
 * Decrypts stanzas as they reach the socket. Baileys takes up one after the other and waits for each to be stored; here
 * those of different people are under way at the same time, so that one commit serves many, and Baileys finds the
 * plaintext ready when its turn comes. One person's stanzas keep their order. It is a head start and nothing more: what
 * is not simple is left to Baileys, and what fails is tried again in Baileys' turn. One for each socket.
 */
export class AheadDecryption {
  readonly #early = new WeakMap<Uint8Array, Early>();
  readonly #places = new WeakMap<Uint8Array, { sender: Sender; number: number }>();
  readonly #senders = new Map<string, Sender>();
  /** Senders whose last stanza could not be decrypted early. */
  readonly #cold = new LRUCache<string, true>({ max: MAX_COLD });
  #decrypt: DecryptEarly = () => Promise.reject(new NotNowError());
  #underWay = 0;

  use(decrypt: DecryptEarly): void {
    this.#decrypt = decrypt;
  }

  /** A message stanza reached the socket. Call before Baileys sees it. */
  arrived(node: BinaryNode): void {
    const work = workOf(node);
    const ciphertext = ciphertextsOf(node).at(-1);
    if (!ciphertext) return;
    const sender = this.#senderOf(senderOf(node.attrs));
    sender.count += 1;
    const number = sender.count;
    this.#places.set(ciphertext, { sender, number });
    const mayStart = work && this.#underWay < MAX_UNDER_WAY && !this.#cold.has(sender.jid);
    const step = mayStart
      ? this.#startEarly(sender, number, work)
      : sender.tail.then(() => this.#untilEnded(sender, number));
    sender.tail = step.finally(() => {
      if (sender.count === number) this.#senders.delete(sender.jid);
    });
  }

  /** The plaintext that is on its way; undefined when Baileys is to decrypt by itself, and `ended` to be called then. */
  take(ciphertext: Uint8Array): Promise<Uint8Array> | undefined {
    const early = this.#early.get(ciphertext);
    if (early?.state === 'running') return early.plaintexts.get(ciphertext);
    if (early) early.state = 'cancelled';
    return undefined;
  }

  /** Baileys ended with a ciphertext that it decrypted by itself, or could not. */
  ended(ciphertext: Uint8Array, isRead: boolean): void {
    const place = this.#places.get(ciphertext);
    if (!place) return;
    const { sender, number } = place;
    if (isRead) this.#cold.delete(sender.jid);
    sender.endedUpTo = Math.max(sender.endedUpTo, number);
    for (const [waiting, go] of sender.waiting) {
      if (waiting > sender.endedUpTo) continue;
      sender.waiting.delete(waiting);
      go();
    }
  }

  #startEarly(sender: Sender, number: number, work: EarlyWork): Promise<unknown> {
    this.#underWay += 1;
    const early: Early = { state: 'waiting', plaintexts: new Map() };
    let before: Promise<unknown> = sender.tail.then(() => {
      if (early.state === 'cancelled') throw new NotNowError();
      early.state = 'running';
    });
    for (const part of work.parts) {
      const plaintext = before.then(() => this.#decrypt(work, part));
      // Baileys may never ask for it.
      plaintext.catch(() => undefined);
      early.plaintexts.set(part.ciphertext, plaintext);
      this.#early.set(part.ciphertext, early);
      before = plaintext;
    }
    return before
      .catch((error: unknown) => {
        if (!(error instanceof NotNowError)) this.#cold.set(sender.jid, true);
        return this.#untilEnded(sender, number);
      })
      .finally(() => {
        this.#underWay -= 1;
      });
  }

  #untilEnded(sender: Sender, number: number): Promise<void> {
    if (sender.endedUpTo >= number) return Promise.resolve();
    return new Promise((go) => sender.waiting.set(number, go));
  }

  #senderOf(jid: string): Sender {
    const known = this.#senders.get(jid);
    if (known) return known;
    const sender: Sender = { jid, count: 0, tail: Promise.resolve(), endedUpTo: 0, waiting: new Map() };
    this.#senders.set(jid, sender);
    return sender;
  }
}

/** The Signal ciphertexts of a stanza; undefined when there is anything unusual about it. */
function workOf({ attrs, content }: BinaryNode): EarlyWork | undefined {
  if (!Array.isArray(content) || !attrs.from) return undefined;
  const isGroup = attrs.from.endsWith('@g.us');
  const parts: EarlyPart[] = [];
  for (const child of content) {
    if (child.tag !== 'enc') continue;
    const kind = child.attrs.type;
    const isKnown = kind === 'pkmsg' || kind === 'msg' || (kind === 'skmsg' && isGroup);
    if (!isKnown || !(child.content instanceof Uint8Array)) return undefined;
    parts.push({ kind, ciphertext: child.content });
  }
  if (parts.length === 0 || (!isGroup && parts.length > 1)) return undefined;
  return {
    author: senderOf(attrs),
    alternate: isGroup
      ? (attrs.participant_pn ?? attrs.participant_lid)
      : (attrs.sender_pn ?? attrs.sender_lid ?? attrs.peer_recipient_pn ?? attrs.peer_recipient_lid),
    chat: attrs.from,
    isGroup,
    parts,
  };
}
