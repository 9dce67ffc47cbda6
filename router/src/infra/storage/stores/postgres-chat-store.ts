import sql, { type Sql } from 'sql-template-tag';
import { lidJid } from '../../../core/chat-id.ts';
import { cleanText } from '../../../core/clean-text.ts';
import { channelIdOfChat } from '../../../core/messages/chat-identity.ts';
import type { ChatQuery, ChatRow, ChatStore } from '../../../core/ports/chat-store.ts';
import type { Postgres } from '../postgres.ts';
import { allOf, type Conditions, ofChats, together } from './log-conditions.ts';
import { type Columns, withoutNulls } from './rows.ts';
import { rowId } from './storable-text.ts';
import { withStorage } from './storage-errors.ts';

interface StoredChat
  extends Columns<
    Pick<ChatRow, 'id' | 'accountId' | 'phone' | 'lid' | 'name' | 'activeAt' | 'lastReceivedAt'>
  > {
  groupId: string | null;
  unanswered: number;
  since: Date | null;
  until: Date | null;
  reason: string | null;
}

/**
 * Columns of `chat c`. The last message of each state has the highest stanza order of its state, which an index finds, so
 * a page costs the same however many messages its chats have.
 */
const CHATS = sql`
  SELECT c.id::text, c.account_id AS "accountId", c.phone, c.lid, c.group_id AS "groupId", c.active_at AS "activeAt",
    last.received_at AS "lastReceivedAt", named.push_name AS name,
    (SELECT count(*)::integer FROM message m WHERE m.chat_id = c.id AND m.state = 'received') AS unanswered,
    CASE WHEN is_paused(c) THEN c.paused_at END AS since, CASE WHEN is_paused(c) THEN c.paused_until END AS until,
    CASE WHEN is_paused(c) THEN c.pause_reason END AS reason
  FROM chat c
  LEFT JOIN LATERAL (
    SELECT m.received_at, m.push_name FROM unnest(ARRAY['received', 'answered', 'ignored', 'dead']) AS s (state)
    CROSS JOIN LATERAL (
      SELECT n.received_at, n.push_name, n.stanza_order FROM message n
      WHERE n.chat_id = c.id AND n.state = s.state ORDER BY n.stanza_order DESC LIMIT 1) AS m
    ORDER BY m.stanza_order DESC LIMIT 1) AS last ON true
  LEFT JOIN LATERAL (
    SELECT coalesce(last.push_name, (
      SELECT n.push_name FROM message n WHERE n.chat_id = c.id AND n.state = 'answered'
      ORDER BY n.stanza_order DESC LIMIT 1)) AS push_name) AS named ON c.group_id IS NULL`;

/** Chats and their pauses in PostgreSQL. */
export class PostgresChatStore implements ChatStore {
  readonly #postgres: Pick<Postgres, 'query'>;

  constructor(postgres: Pick<Postgres, 'query'>) {
    this.#postgres = postgres;
  }

  async list({ accountId, channelId, chats, isPaused, after, limit }: ChatQuery): Promise<ChatRow[]> {
    const conditions = together(
      ofChats(sql`c.id`, channelId === undefined ? undefined : [channelId], accountId),
      ofChats(sql`c.id`, chats, accountId),
      accountId === undefined ? [] : [sql`c.account_id = ${accountId}`],
      isPaused === undefined ? [] : [sql`is_paused(c) = ${isPaused}`],
      afterPosition(after),
    );
    if (conditions === 'none') return [];
    // The page first: what is read besides the chat itself is read for the chats of the page only.
    const page = sql`WHERE c.id IN (
      SELECT c.id FROM chat c WHERE ${allOf(conditions)} ORDER BY c.active_at DESC, c.id DESC LIMIT ${limit}::integer)
      ORDER BY c.active_at DESC, c.id DESC`;
    return this.#rows('reading chats', sql`${CHATS} ${page}`);
  }

  async get(id: string): Promise<ChatRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#rows('reading a chat', sql`${CHATS} WHERE c.id = ${key}::bigint`);
    return row;
  }

  pause(id: string, { forMs, reason }: { forMs?: number; reason?: string }): Promise<ChatRow | undefined> {
    return this.#changed(
      id,
      'pausing a chat',
      sql`paused_at = now(), paused_until = now() + ${forMs ?? null}::bigint * interval '1 millisecond',
        pause_reason = ${reason === undefined ? null : cleanText(reason)}`,
    );
  }

  resume(id: string): Promise<ChatRow | undefined> {
    return this.#changed(
      id,
      'resuming a chat',
      sql`paused_at = NULL, paused_until = NULL, pause_reason = NULL`,
    );
  }

  /** Changes a chat and reads it as it is then. */
  async #changed(id: string, what: string, assignments: Sql): Promise<ChatRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    await withStorage(what, () =>
      this.#postgres.query(sql`UPDATE chat SET ${assignments} WHERE id = ${key}::bigint`),
    );
    return this.get(id);
  }

  async #rows(what: string, statement: Sql): Promise<ChatRow[]> {
    const rows = await withStorage(what, () => this.#postgres.query<StoredChat>(statement));
    return rows.map(chatRow);
  }
}

function afterPosition(after: ChatQuery['after']): Conditions {
  if (!after) return [];
  const key = rowId(after.id);
  if (key === undefined) return 'none';
  return [sql`(c.active_at, c.id) < (to_timestamp(${after.activeAtMs}::float8 / 1000), ${key}::bigint)`];
}

function chatRow({ groupId, since, until, reason, ...row }: StoredChat): ChatRow {
  const { phone, lid, ...columns } = row;
  return {
    ...withoutNulls(columns),
    ...withoutNulls({ phone, lid: lid === null ? null : lidJid(lid) }),
    channelId: channelIdOfChat({ phone, lid, groupId }),
    isGroup: groupId !== null,
    ...(since && { pause: withoutNulls({ since, until, reason }) }),
  };
}
