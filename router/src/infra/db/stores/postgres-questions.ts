import sql from 'sql-template-tag';
import { z } from 'zod';
import { type ChatId, parseJid } from '../../../core/chat-id.ts';
import { nodeMessage } from '../../../core/cluster/node-bus.ts';
import { StorageRejectedError } from '../../../core/errors.ts';
import type { NewQuestion, Question, QuestionState, Questions } from '../../../core/ports/pending-answers.ts';
import type { Statements } from '../postgres.ts';
import { type CacheNodes, NotifiedCache } from './notified-cache.ts';
import { withStorage } from './storage-errors.ts';

/** PostgreSQL: a question to a person changed; `taskId`: of the task for which a program asks. */
export const questionChanged = nodeMessage('question-changed', { taskId: z.string() });

/** How long the list of chats is used when no question changes. Bounds the delay of a notification that is lost. */
const MAX_AGE_MS = 60_000;

/**
 * Questions to people in PostgreSQL; see prisma/functions/questions.sql. Knows the chats with open questions, so that a message
 * of another chat costs no statement; without `nodes` they are read for each message.
 */
export class PostgresQuestions implements Questions {
  readonly #postgres: Pick<Statements, 'query' | 'changes'>;
  readonly #chats: NotifiedCache<ReadonlySet<ChatId>>;

  constructor(postgres: Pick<Statements, 'query' | 'changes'>, nodes?: CacheNodes) {
    this.#postgres = postgres;
    this.#chats = new NotifiedCache(nodes, { changed: questionChanged, maxAgeMs: MAX_AGE_MS });
  }

  async add({ id, accountId, to, remindMs, deadlineMs }: NewQuestion): Promise<void> {
    const address = parseJid(to);
    if (address?.kind !== 'phone' && address?.kind !== 'lid') {
      throw new StorageRejectedError({ sentence: 'A question must go to a person.' });
    }
    const phone = address.kind === 'phone' ? address.phone : null;
    const lid = address.kind === 'lid' ? address.lid : null;
    await this.#write('storing a question', () =>
      this.#postgres.query(sql`
        SELECT question_add(${id}, ${accountId}, ${phone}, ${lid}, ${to}, ${Math.round(remindMs)}::bigint,
          ${Math.round(deadlineMs)}::bigint)`),
    );
  }

  async open(id: string): Promise<QuestionState> {
    const [row] = await this.#write('opening a question', () =>
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
    const [row] = await this.#write('closing a question', () =>
      this.#postgres.query<{ chatId: ChatId }>(sql`
        UPDATE person_question SET state = 'closed' WHERE id = ${id} AND state IN ('waiting', 'open')
        RETURNING chat_id::text AS "chatId"`),
    );
    if (row) this.#report(row.chatId, 'question-closed');
  }

  #report(chatId: ChatId, change: 'question-answered' | 'question-closed'): void {
    this.#postgres.changes.report({ type: 'chat', chatId, id: chatId, change });
  }

  #write<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.#chats.change(() => withStorage(what, work));
  }

  async answer(chatId: ChatId, messageId: string): Promise<string | undefined> {
    const open = await this.#chats.read('open', async () => new Set(await this.chats()));
    if (!open.has(chatId)) return undefined;
    const [row] = await withStorage('looking for a question to a person', () =>
      this.#postgres.query<{ id: string | null }>(sql`
        SELECT question_answer(${chatId}::bigint, ${messageId}::bigint) AS id`),
    );
    if (row?.id) this.#report(chatId, 'question-answered');
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
