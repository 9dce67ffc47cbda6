import sql from 'sql-template-tag';
import type { ChatHistory, EarlierTurn } from '../../../core/ports/chat-history.ts';
import type { Statements } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/** Turns of a chat in PostgreSQL, found by its replies; the cost grows with `limit` only. */
export class PostgresChatHistory implements ChatHistory {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  async answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]> {
    return withStorage('reading the last turns of a chat', () =>
      this.#postgres.query<EarlierTurn>(sql`
        SELECT coalesce(m.sender_lid, m.sender_phone, '') AS sender, m.text, o.text AS "replyText",
          (extract(epoch FROM m.received_at) * 1000)::bigint::float8 AS "receivedAtMs",
          (extract(epoch FROM o.queued_at) * 1000)::bigint::float8 AS "repliedAtMs"
        FROM outbox o JOIN message m ON m.id = o.message_id
        WHERE o.chat_id = ${chatId}::bigint ORDER BY o.id DESC LIMIT ${limit}::integer`),
    );
  }
}
