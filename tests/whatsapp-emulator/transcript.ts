import { type BinaryNode, normalizeMessageContent, type proto } from '@whiskeysockets/baileys';
import type { Reading } from './actors.ts';
import { changeOf } from './message-content.ts';

/** One line of the transcript, in the order of events. */
export interface TranscriptEntry {
  readonly seq: number;
  readonly atMs: number;
  /** `in`: a person wrote to an account. `out`: a client wrote. `read`: a person read a client's message. `receipt`: a client's receipt. */
  readonly kind: 'in' | 'out' | 'read' | 'receipt';
  /** WhatsApp id of the message concerned. */
  readonly id: string;
  /** The linked device, phone number form. */
  readonly account: string;
  /** The person or phone, user JID, phone number form; for `out` the chat as addressed. */
  readonly person: string;
  /** The chat: a group's JID, else the person's user JID in the form used on the wire. */
  readonly chat: string;
  readonly text?: string;
  /** `read`: the outcome of decryption, or `reaction`; `receipt`: its type, `delivery` when it has none. */
  readonly detail?: string;
  /** The stanza edits or deletes an earlier message of the client. */
  readonly isChange?: boolean;
  /** Id of the message that it changes, when its reader could read it; `text` is its new text, none for a deletion. */
  readonly changes?: string;
}

/** A stanza that a client sent, without its content, numbered in order of arrival. */
export interface ArrivedStanza {
  readonly seq: number;
  readonly atMs: number;
  /** Device JID, phone number form; `undefined` before login. */
  readonly device: string | undefined;
  readonly tag: string;
  readonly attrs: Readonly<Record<string, string>>;
}

/** A bubble of a chat: one per WhatsApp id, however often it was sent. */
export interface Bubble {
  readonly id: string;
  /** `account` for a client's message, else the writing person's phone number JID. */
  readonly from: string;
  readonly account: string;
  text: string | undefined;
  readonly firstAtMs: number;
  /** The number of repeats of the id at a reader; WhatsApp shows it once. */
  repeats: number;
  /** The readers (user JIDs, phone number form). */
  readonly readers: string[];
  /** True after delivery: of a person's message by the client's receipt, of a client's message by a reader. */
  isDelivered: boolean;
  isDeleted: boolean;
}

/** The record of all sent and delivered messages, which tests check. */
export class Transcript {
  readonly #entries: TranscriptEntry[] = [];
  readonly #stanzas: ArrivedStanza[] = [];
  /** Chat key -> id -> bubble; a person's two addresses share one chat key. */
  readonly #chats = new Map<string, Map<string, Bubble>>();

  /** A copy of the record so far. */
  entries(): TranscriptEntry[] {
    return [...this.#entries];
  }

  /** A copy of the list of stanzas that clients sent so far. */
  stanzas(): ArrivedStanza[] {
    return [...this.#stanzas];
  }

  /** Records an arriving stanza. */
  arrived(device: string | undefined, { tag, attrs }: BinaryNode): void {
    this.#stanzas.push({ seq: this.#stanzas.length + 1, atMs: Date.now(), device, tag, attrs });
  }

  /** The bubbles of a chat in order of appearance; `chat` is a person's phone number JID or a group's. */
  bubbles(chat: string): Bubble[] {
    return [...(this.#chats.get(chat)?.values() ?? [])];
  }

  bubble(chat: string, id: string): Bubble | undefined {
    return this.#chats.get(chat)?.get(id);
  }

  /** A person wrote. A repeated id (a resend) adds a line but no bubble, and a change of an earlier message none either. */
  wrote(entry: { id: string; account: string; person: string; chat: string; message: proto.IMessage }): void {
    const change = changeOf(entry.message);
    const text = change ? change.text : textOf(entry.message);
    this.#add({ kind: 'in', ...entry, text, ...(change && { changes: change.id }) });
    const chat = this.#chat(entry.chat.endsWith('@g.us') ? entry.chat : entry.person);
    if (change) {
      const target = chat.get(change.id);
      if (target && change.text === undefined) target.isDeleted = true;
      else if (target) target.text = change.text;
      return;
    }
    if (!chat.has(entry.id)) chat.set(entry.id, bubble(entry.id, entry.person, entry.account, text));
  }

  /** A client sent a message to a chat; no reader has it yet. */
  sent(entry: { id: string; account: string; chat: string }): void {
    this.#add({ kind: 'out', person: entry.chat, ...entry });
  }

  /** A person received a client's message. @returns true when the same person had read that id before */
  readBy(
    entry: Pick<TranscriptEntry, 'id' | 'account' | 'person' | 'chat' | 'isChange'>,
    chatKey: string,
    reading: Reading,
  ): boolean {
    const message = 'message' in reading ? reading.message : undefined;
    const change = message && changeOf(message);
    const text = change ? change.text : message && textOf(message);
    const isReaction = message && normalizeMessageContent(message)?.reactionMessage != null;
    const outcome = reading.kind === 'unreadable' ? `unreadable: ${reading.reason}` : reading.kind;
    const detail = isReaction ? 'reaction' : outcome;
    this.#add({ kind: 'read', ...entry, text, detail, ...(change && { changes: change.id }) });
    if (!message || isReaction) return false;
    const chat = this.#chat(chatKey);
    if (change) {
      const target = chat.get(change.id);
      if (target && change.text === undefined) target.isDeleted = true;
      else if (target) target.text = change.text;
      return false;
    }
    // another protocol message shows nothing
    if (normalizeMessageContent(message)?.protocolMessage) return false;
    const shown = chat.get(entry.id) ?? bubble(entry.id, 'account', entry.account, text);
    chat.set(entry.id, shown);
    const isRepeat = shown.readers.includes(entry.person);
    if (!isRepeat) shown.readers.push(entry.person);
    else shown.repeats += 1;
    shown.isDelivered = true;
    return isRepeat;
  }

  /** A client acknowledged a person's message. */
  receipt(entry: {
    id: string;
    account: string;
    person: string;
    chat: string;
    type: string | undefined;
  }): void {
    const { type, ...rest } = entry;
    this.#add({ kind: 'receipt', ...rest, detail: type ?? 'delivery' });
    const chat = this.#chat(entry.chat.endsWith('@g.us') ? entry.chat : entry.person);
    const shown = chat.get(entry.id);
    if (shown && type !== 'retry') shown.isDelivered = true;
  }

  #chat(key: string): Map<string, Bubble> {
    const chat = this.#chats.get(key) ?? new Map<string, Bubble>();
    this.#chats.set(key, chat);
    return chat;
  }

  #add(entry: Omit<TranscriptEntry, 'seq' | 'atMs'> & { message?: proto.IMessage }): void {
    const { message: _, ...kept } = entry;
    this.#entries.push({ seq: this.#entries.length + 1, atMs: Date.now(), ...kept });
  }
}

/** The visible text: text or caption; `undefined` when it has none. */
function textOf(message: proto.IMessage): string | undefined {
  const content = normalizeMessageContent(message);
  return (
    content?.conversation ??
    content?.extendedTextMessage?.text ??
    content?.imageMessage?.caption ??
    content?.videoMessage?.caption ??
    content?.documentMessage?.caption ??
    content?.reactionMessage?.text ??
    undefined
  );
}

function bubble(id: string, from: string, account: string, text: string | undefined): Bubble {
  return {
    id,
    from,
    account,
    text,
    firstAtMs: Date.now(),
    repeats: 0,
    readers: [],
    isDelivered: false,
    isDeleted: false,
  };
}
