import sql from 'sql-template-tag';
import {
  type ChatHistory,
  type EarlierTurn,
  PAST_TEXT_CHARS,
  type PastTurn,
} from '../../../core/ports/chat-history.ts';
import type { Statements } from '../postgres.ts';
import { type Columns, withoutNulls } from './rows.ts';
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

  async pastTurns(chatId: string, except: string, limit: number): Promise<PastTurn[]> {
    const rows = await withStorage('reading the conversation of a chat', () =>
      this.#postgres.query<Columns<PastTurn>>(sql`
        SELECT coalesce(m.sender_lid, m.sender_phone, '') AS sender, m.push_name AS "pushName", m.kind,
          left(m.text, ${PAST_TEXT_CHARS}::integer) AS text, r.replies
        FROM message m CROSS JOIN LATERAL (
          SELECT json_agg(json_strip_nulls(json_build_object(
              'text', left(o.text, ${PAST_TEXT_CHARS}::integer), 'media', o.media ->> 'kind')) ORDER BY o.ordinal) AS replies
          FROM outbox o WHERE o.message_id = m.id AND o.state <> 'dead'
        ) r
        WHERE m.chat_id = ${chatId}::bigint AND m.state = 'answered' AND m.id <> ${except}::bigint
          AND m.reason IS DISTINCT FROM 'fallback-text' AND r.replies IS NOT NULL
        ORDER BY m.stanza_order DESC, m.id DESC LIMIT ${limit}::integer`),
    );
    return rows.map(withoutNulls);
  }
}
