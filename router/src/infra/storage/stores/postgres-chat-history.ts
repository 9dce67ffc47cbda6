import sql from 'sql-template-tag';
import type { ChatHistory, EarlierTurn } from '../../../core/ports/chat-history.ts';
import type { Statements } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

interface TurnRow {
  sender: string;
  text: string;
  received_at_ms: string;
  replied_at_ms: string;
  reply_text: string;
}

/** Turns of a chat in PostgreSQL, found by its replies; the cost grows with `limit` only. */
export class PostgresChatHistory implements ChatHistory {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  async answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]> {
    const rows = await withStorage('reading the last turns of a chat', () =>
      this.#postgres.query<TurnRow>(sql`
        SELECT coalesce(m.sender_lid, m.sender_phone, '') AS sender, m.text, o.text AS reply_text,
          (extract(epoch FROM m.received_at) * 1000)::bigint::text AS received_at_ms,
          (extract(epoch FROM o.queued_at) * 1000)::bigint::text AS replied_at_ms
        FROM outbox o JOIN message m ON m.id = o.message_id
        WHERE o.chat_id = ${chatId}::bigint ORDER BY o.id DESC LIMIT ${limit}::integer`),
    );
    return rows.map((row) => ({
      sender: row.sender,
      text: row.text,
      receivedAtMs: Number(row.received_at_ms),
      repliedAtMs: Number(row.replied_at_ms),
      replyText: row.reply_text,
    }));
  }
}
