import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { ChatId } from '../../../core/ids.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { NewQuestion, Question, QuestionState, Questions } from '../../../core/ports/questions.ts';
import type { NotifyingTransport } from './notified-cache.ts';

/** How long the list of chats is used when no question changes. Bounds the delay of a notification that is lost. */
const MAX_AGE_MS = 60_000;

/**
 * Knows the chats with open questions, so that a message of another chat costs no statement. PostgreSQL notifies all nodes
 * of every change (prisma/functions/questions.sql). While notifications may be lost, the chats are read for each message.
 */
export class CachedQuestions implements Questions {
  readonly #table: Questions;
  readonly #transport: NotifyingTransport;
  readonly #clock: Clock;
  #known: { chats: Promise<ReadonlySet<ChatId>>; readAtMs: number; session: number | undefined } | undefined;

  constructor(table: Questions, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#transport = bus.transport;
    this.#clock = clock;
    bus.on('question-changed', () => this.#forget());
  }

  async answer(chatId: ChatId, messageId: string): Promise<string | undefined> {
    if (!(await this.#chats()).has(chatId)) return undefined;
    return this.#table.answer(chatId, messageId);
  }

  async add(question: NewQuestion): Promise<void> {
    await this.#table.add(question).finally(() => this.#forget());
  }

  async open(id: string): Promise<QuestionState> {
    return await this.#table.open(id).finally(() => this.#forget());
  }

  get(id: string): Promise<Question | undefined> {
    return this.#table.get(id);
  }

  async close(id: string): Promise<void> {
    await this.#table.close(id).finally(() => this.#forget());
  }

  async chats(): Promise<ChatId[]> {
    return this.#table.chats();
  }

  #forget(): void {
    this.#known = undefined;
  }

  #chats(): Promise<ReadonlySet<ChatId>> {
    const { session } = this.#transport;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#known;
    if (known && session !== undefined && known.session === session && nowMs - known.readAtMs < MAX_AGE_MS) {
      return known.chats;
    }
    const chats = this.#table.chats().then((ids) => new Set(ids));
    const read = { chats, readAtMs: nowMs, session };
    this.#known = read;
    chats.catch(() => {
      if (this.#known === read) this.#known = undefined;
    });
    return chats;
  }
}
