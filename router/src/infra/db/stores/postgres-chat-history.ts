import sql from 'sql-template-tag';
import {
  type ChatHistory,
  type EarlierTurn,
  PAST_TEXT_CHARS,
  type PastTurn,
  type UnansweredMessage,
} from '../../../core/ports/message-log.ts';
import type { Statements } from '../postgres.ts';
import { type Columns, withoutNulls } from './rows.ts';
import { withStorage } from './storage-errors.ts';

/** What a turn asked: the text of its message `m`, after those of the messages that ended with it. */
const WORDS = sql`concat_ws(E'\\n', (
  SELECT string_agg(g.text, E'\\n' ORDER BY g.stanza_order, g.id) FROM message g
  WHERE g.merged_into = m.id AND g.reason = 'merged' AND g.text <> ''), nullif(m.text, ''))`;

/** Turns of a chat in PostgreSQL, found by its replies; the cost grows with `limit` only. */
export class PostgresChatHistory implements ChatHistory {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  async answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]> {
    return withStorage('reading the last turns of a chat', () =>
      this.#postgres.query<EarlierTurn>(sql`
        SELECT coalesce(m.sender_lid, m.sender_phone, '') AS sender, ${WORDS} AS text, o.text AS "replyText",
          (extract(epoch FROM m.received_at) * 1000)::bigint::float8 AS "receivedAtMs",
          (extract(epoch FROM o.queued_at) * 1000)::bigint::float8 AS "repliedAtMs"
        FROM outbox o JOIN message m ON m.id = o.message_id
        WHERE o.chat_id = ${chatId}::bigint AND o.state <> 'draft' AND o.special IS NULL ORDER BY o.id DESC LIMIT ${limit}::integer`),
    );
  }

  async pastTurns(
    chatId: string,
    except: string,
    limit: number,
    sinceMs = 0,
    person?: { sender: string; chatIds: readonly string[] },
  ): Promise<PastTurn[]> {
    // One chat is read in the order of its index.
    const where = person
      ? sql`m.chat_id = ANY (${[...person.chatIds]}::bigint[]) AND coalesce(m.sender_lid, m.sender_phone) = ${person.sender}`
      : sql`m.chat_id = ${chatId}::bigint`;
    const rows = await withStorage('reading the conversation of a chat', () =>
      this.#postgres.query<Columns<PastTurn>>(sql`
        SELECT coalesce(m.sender_lid, m.sender_phone, '') AS sender, m.push_name AS "pushName", m.kind,
          left(${WORDS}, ${PAST_TEXT_CHARS}::integer) AS text, r.replies
        FROM message m CROSS JOIN LATERAL (
          SELECT json_agg(json_strip_nulls(json_build_object(
              'text', left(o.text, ${PAST_TEXT_CHARS}::integer), 'media', o.media ->> 'kind')) ORDER BY o.ordinal) AS replies
          FROM outbox o WHERE o.message_id = m.id AND o.state NOT IN ('dead', 'draft') AND o.special IS NULL
        ) r
        WHERE ${where} AND m.state = 'answered' AND m.id <> ${except}::bigint
          AND (m.reason IS NULL OR m.reason NOT IN ('fallback-text', 'command', 'quota-exceeded')) AND r.replies IS NOT NULL
          AND m.received_at >= to_timestamp(${sinceMs}::float8 / 1000)
        ORDER BY m.stanza_order DESC, m.id DESC LIMIT ${limit}::integer`),
    );
    return rows.map(withoutNulls);
  }

  async unanswered(
    chatId: string,
    before: string,
    reasons: readonly string[],
    limit: number,
  ): Promise<UnansweredMessage[]> {
    const rows = await withStorage('reading unanswered messages of a chat', () =>
      this.#postgres.query<Columns<UnansweredMessage>>(sql`
        WITH answered AS MATERIALIZED (
          SELECT a.id, a.stanza_order FROM message a WHERE a.chat_id = ${chatId}::bigint AND a.state = 'answered'
          ORDER BY a.stanza_order DESC LIMIT 1)
        SELECT sender, "isOwner", "pushName", kind, left(text, ${PAST_TEXT_CHARS}::integer) AS text FROM (
          SELECT m.id, coalesce(m.sender_lid, m.sender_phone, '') AS sender,
            CASE m.reason WHEN 'owner-message' THEN true END AS "isOwner", m.kind, m.text,
            coalesce(m.push_name, (
              SELECT n.push_name FROM (
                SELECT r.push_name, r.sender_phone, r.sender_lid FROM message r
                WHERE r.chat_id = ${chatId}::bigint ORDER BY r.id DESC LIMIT 1000) n
              WHERE n.push_name IS NOT NULL AND (n.sender_lid = m.sender_lid OR n.sender_phone = m.sender_phone)
              LIMIT 1)) AS "pushName"
          FROM message m JOIN message b ON b.id = ${before}::bigint
          WHERE m.chat_id = ${chatId}::bigint AND m.state = 'ignored' AND m.reason = ANY (${[...reasons]}::text[])
            AND m.stanza_order < b.stanza_order
            AND m.stanza_order > coalesce((SELECT a.stanza_order FROM answered a), -1)
          UNION ALL
          SELECT o.id, '', true, replace(coalesce(o.media ->> 'kind', 'text'), 'voice', 'audio'), o.text, NULL FROM outbox o
          WHERE o.chat_id = ${chatId}::bigint AND o.by_hand AND o.state <> 'dead'
            AND 'owner-message' = ANY (${[...reasons]}::text[])
            AND o.id < ${before}::bigint AND o.id > coalesce((SELECT a.id FROM answered a), 0)
        ) AS waiting ORDER BY id DESC LIMIT ${limit}::integer`),
    );
    return rows.map(withoutNulls);
  }
}
