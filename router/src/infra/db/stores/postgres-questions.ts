import sql from 'sql-template-tag';
import { type ChatId, parseJid } from '../../../core/chat-id.ts';
import type { Clock } from '../../../core/clock.ts';
import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import { StorageRejectedError } from '../../../core/errors.ts';
import type { NewQuestion, Question, QuestionState, Questions } from '../../../core/ports/pending-answers.ts';
import type { Statements } from '../postgres.ts';
import type { NotifyingTransport } from './notified-cache.ts';
import { withStorage } from './storage-errors.ts';

/** Questions to people in PostgreSQL; see prisma/functions/questions.sql. */
export class PostgresQuestions implements Questions {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async add({ id, accountId, to, remindMs, deadlineMs }: NewQuestion): Promise<void> {
    const address = parseJid(to);
    if (address?.kind !== 'phone' && address?.kind !== 'lid') {
      throw new StorageRejectedError('A question must go to a person.');
    }
    const phone = address.kind === 'phone' ? address.phone : null;
    const lid = address.kind === 'lid' ? address.lid : null;
    await withStorage('storing a question', () =>
      this.#postgres.query(sql`
        SELECT question_add(${id}, ${accountId}, ${phone}, ${lid}, ${to}, ${Math.round(remindMs)}::bigint,
          ${Math.round(deadlineMs)}::bigint)`),
    );
  }

  async open(id: string): Promise<QuestionState> {
    const [row] = await withStorage('opening a question', () =>
      this.#postgres.query<{ state: QuestionState }>(sql`SELECT question_open(${id}) AS state`),
    );
    return row?.state ?? 'closed';
  }

  async get(id: string): Promise<Question | undefined> {
    const [row] = await withStorage('reading a question', () =>
      this.#postgres.query<Omit<Question, 'answer'> & { answer: string | null }>(sql`
        SELECT state, answer,
          (extract(epoch FROM remind_at - clock_timestamp()) * 1000)::float8 AS "remindMs",
          (extract(epoch FROM deadline_at - clock_timestamp()) * 1000)::float8 AS "deadlineMs"
        FROM person_question WHERE id = ${id}`),
    );
    if (!row) return undefined;
    const { answer, ...question } = row;
    return answer === null ? question : { ...question, answer };
  }

  async close(id: string): Promise<void> {
    await withStorage('closing a question', () =>
      this.#postgres.execute(sql`
        UPDATE person_question SET state = 'closed' WHERE id = ${id} AND state IN ('waiting', 'open')`),
    );
  }

  async answer(chatId: ChatId, messageId: string): Promise<string | undefined> {
    const [row] = await withStorage('looking for a question to a person', () =>
      this.#postgres.query<{ id: string | null }>(sql`
        SELECT question_answer(${chatId}::bigint, ${messageId}::bigint) AS id`),
    );
    return row?.id ?? undefined;
  }

  /** An answered question counts until the turn of its message has ended: a crash may repeat that turn. */
  async chats(): Promise<ChatId[]> {
    const rows = await withStorage('reading the chats with questions', () =>
      this.#postgres.query<{ id: ChatId }>(sql`
        SELECT DISTINCT chat_id::text AS id FROM person_question q WHERE q.state = 'open' OR (q.state = 'answered'
          AND EXISTS (SELECT 1 FROM message m WHERE m.id = q.answer_message_id AND m.state = 'received'))`),
    );
    return rows.map(({ id }) => id);
  }
}

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
