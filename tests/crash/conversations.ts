import { EventEmitter } from 'node:events';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import type { EditAddresses } from '../whatsapp-emulator/person-model.ts';
import { type Chat, moveChat } from './chats.ts';
import { questionsIn } from './check-transcript.ts';
import type { SeededRandom } from './random.ts';

/** Of the messages: written with a mistake, which an encrypted edit corrects at once. */
const EDITED_SHARE = 0.1;
const ADDRESSES = ['pn', 'lid'] as const;
/** In a chat without unanswered messages, WhatsApp moves it to the other address form before one of so many. */
const MESSAGES_PER_MOVE = 5;
/** Unanswered messages of one chat at a time. */
const MOST_OPEN_IN_A_CHAT = 4;

/**
 * People who write in many chats at once. When a message is answered the next one is sent, in a chat chosen by the
 * seed, until the allowed number is reached. People also write while the service is down.
 */
export class Conversations {
  readonly #emulator: WhatsAppEmulator;
  readonly #chats: readonly Chat[];
  readonly #random: SeededRandom;
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #open = new Map<Chat, Set<string>>();
  readonly #writing = new Set<Chat>();
  #said = 0;
  #allowance = 0;
  #mostOpen = 1;
  #isPeriodic = false;
  #answered = 0;

  constructor(emulator: WhatsAppEmulator, chats: readonly Chat[], random: SeededRandom) {
    this.#emulator = emulator;
    this.#chats = chats;
    this.#random = random;
    for (const chat of chats) this.#open.set(chat, new Set());
    emulator.events.on('reply', ({ person, text }) => this.#onText(person, text));
    emulator.events.on('change', ({ person, text }) => this.#onText(person, text));
  }

  get said(): number {
    return this.#said;
  }

  get answered(): number {
    return this.#answered;
  }

  /** Texts of the messages that were sent and not answered. */
  unanswered(): string[] {
    return [...this.#open.values()].flatMap((texts) => [...texts]);
  }

  /** Lets people send messages until there are `total`, with at most `mostOpen` unanswered at a time. */
  allow(total: number, mostOpen: number): void {
    this.#allowance = Math.max(total, this.#said);
    this.#mostOpen = mostOpen;
    this.#write();
  }

  /**
   * Sends a message every `everyMs` in a chat chosen by the seed, answered or not, until the returned function is
   * called.
   */
  writePeriodically(everyMs: number): () => void {
    const timer = setInterval(() => {
      const free = this.#chats.filter((chat) => !this.#writing.has(chat));
      if (free.length === 0) return;
      this.#allowance = Math.max(this.#allowance, this.#said + 1);
      this.#say(this.#random.oneOf(free));
    }, everyMs);
    this.#isPeriodic = true;
    return () => {
      this.#isPeriodic = false;
      clearInterval(timer);
    };
  }

  /** One more message in every chat. */
  writeInEveryChat(): void {
    this.#allowance += this.#chats.length;
    for (const chat of this.#chats) this.#say(chat);
  }

  /**
   * Resolves when every allowed message was sent and answered.
   * @returns false when nothing was answered for `stuckAfterMs`
   */
  untilAllAnswered(stuckAfterMs: number, signal?: AbortSignal): Promise<boolean> {
    return this.untilAnswered(Number.POSITIVE_INFINITY, stuckAfterMs, signal);
  }

  /** Resolves when so many messages, or all that are allowed, were answered; false as in `untilAllAnswered`. */
  untilAnswered(count: number, stuckAfterMs: number, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isDone: boolean) => {
        clearTimeout(timer);
        this.#events.off('answered', look);
        signal?.removeEventListener('abort', aborted);
        resolve(isDone);
      };
      const stuck = () => end(false);
      const aborted = () => end(false);
      let timer = setTimeout(stuck, stuckAfterMs);
      const look = () => {
        clearTimeout(timer);
        timer = setTimeout(stuck, stuckAfterMs);
        const all = this.#isPeriodic ? Number.POSITIVE_INFINITY : this.#allowance;
        if (this.#answered >= Math.min(count, all)) end(true);
      };
      this.#events.on('answered', look);
      signal?.addEventListener('abort', aborted);
      look();
    });
  }

  #write(): void {
    for (;;) {
      if (this.#said >= this.#allowance || this.#said - this.#answered >= this.#mostOpen) return;
      const free = this.#chats.filter(
        (chat) => !this.#writing.has(chat) && (this.#open.get(chat)?.size ?? 0) < MOST_OPEN_IN_A_CHAT,
      );
      if (free.length === 0) return;
      this.#say(this.#random.oneOf(free));
    }
  }

  #say(chat: Chat): void {
    this.#said += 1;
    const text = `${chat.name} says ${this.#said}`;
    const open = this.#open.get(chat);
    // Before a stanza names both addresses of a person they are two chats, whose order is not kept.
    if (open?.size === 0 && this.#random.between(1, MESSAGES_PER_MOVE) === 1) moveChat(this.#emulator, chat);
    open?.add(text);
    this.#writing.add(chat);
    const writer = this.#random.oneOf(chat.people);
    // An edit names no address that the service cannot know.
    const known = writer.hidden === 'lid' ? (['pn'] as const) : ADDRESSES;
    const addresses = this.#random.next() < EDITED_SHARE && {
      author: this.#random.oneOf(known),
      editor: this.#random.oneOf(known),
    };
    const session = this.#random.oneOf(ADDRESSES);
    void (
      addresses ? writeAndEdit(writer, text, chat.to, addresses) : writer.say(text, { to: chat.to, session })
    ).then(() => {
      this.#writing.delete(chat);
      this.#write();
    });
  }

  #onText(reader: string, shown = ''): void {
    for (const chat of this.#chats) {
      if (!chat.people.some(({ pn }) => pn === reader)) continue;
      const open = this.#open.get(chat);
      const answered = questionsIn(shown).filter((text) => open?.delete(text));
      if (answered.length === 0) continue;
      this.#answered += answered.length;
      this.#events.emit('answered');
      this.#write();
    }
  }
}

async function writeAndEdit(
  writer: Person,
  text: string,
  to: string,
  encrypted: EditAddresses,
): Promise<void> {
  const id = await writer.say(`${text}, mistaken`, { to });
  await writer.edit(id, text, { to, encrypted });
}
