import { createHash, randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import {
  type LateAnswer,
  type LateReply,
  REPLY_TOKEN_VALID_MS,
  type ReplyTokenState,
  type ReplyTokens,
} from '../../../core/ports/pending-answers.ts';
import { cleanText } from '../../../core/text.ts';
import type { Statements } from '../postgres.ts';
import { filesJson } from './postgres-message-files.ts';
import { queuedReply, type ReplyRow, storableId } from './rows.ts';
import { withStorage } from './storage-errors.ts';

const TOKEN_BYTES = 32;

/**
 * Reply tokens in PostgreSQL; see prisma/functions/replies.sql. A token is found by the hash of 256 random bits, so the
 * time of a search says nothing about the tokens that exist.
 */
export class PostgresReplyTokens implements ReplyTokens {
  readonly #postgres: Statements;
  readonly #validMs: number;

  constructor(postgres: Statements, validMs = REPLY_TOKEN_VALID_MS) {
    this.#postgres = postgres;
    this.#validMs = validMs;
  }

  async issue(messageId: string): Promise<string> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    await withStorage('storing a reply token', () =>
      this.#postgres.query(sql`
        INSERT INTO reply_token (token_hash, message_id, expires_at)
        VALUES (${hashOf(token)}::bytea, ${messageId}::bigint,
          now() + ${this.#validMs}::bigint * interval '1 millisecond')`),
    );
    return token;
  }

  async stateOf(token: string): Promise<ReplyTokenState> {
    const [row] = await withStorage('reading a reply token', () =>
      this.#postgres.query<{ state: ReplyTokenState }>(sql`
        SELECT reply_token_state(${hashOf(token)}::bytea) AS state`),
    );
    return row?.state ?? 'unknown';
  }

  async routeOf(token: string): Promise<string | undefined> {
    const [row] = await withStorage('reading the route of a reply token', () =>
      this.#postgres.query<{ route_id: string | null }>(sql`
        SELECT m.route_id FROM reply_token t JOIN message m ON m.id = t.message_id
        WHERE t.token_hash = ${hashOf(token)}::bytea`),
    );
    return row?.route_id ?? undefined;
  }

  async redeem(token: string, replies: readonly LateReply[]): Promise<LateAnswer> {
    const waIds = replies.map(({ waMessageId }) => storableId(waMessageId));
    const texts = replies.map(({ text }) => cleanText(text));
    const files = await filesJson(replies, this.#postgres.files);
    const rows = await withStorage('storing a late answer', () =>
      this.#postgres.query<ReplyRow & { outcome: LateAnswer['outcome'] }>(sql`
        SELECT outcome, outbox_id::text, message_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media,
          timer_seconds
        FROM reply_later(${hashOf(token)}::bytea, ${waIds}::text[], ${texts}::text[], ${files}::jsonb)`),
    );
    const refused = rows.find(({ outcome }) => outcome !== 'stored')?.outcome;
    if (refused !== undefined && refused !== 'stored') return { outcome: refused };
    return { outcome: 'stored', replies: rows.map(queuedReply) };
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
