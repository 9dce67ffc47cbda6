import sql, { type Sql } from 'sql-template-tag';
import { type ChatIdentity, channelIdOfChat } from '../../core/messages/chat-identity.ts';
import type { Draft, DraftQuery, Drafts } from '../../core/ports/pending-answers.ts';
import { cleanText } from '../../core/text.ts';
import type { QueuedReply } from '../../core/turns/turn.ts';
import type { Postgres } from '../../infra/db/postgres.ts';
import { allOf, newerThan, ofAccounts, ofChats, together } from '../../infra/db/stores/log-conditions.ts';
import { reportReplies } from '../../infra/db/stores/postgres-outbox.ts';
import { type Columns, queuedReply, type ReplyRow, rowId, withoutNulls } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

interface StoredDraft extends Columns<Omit<Draft, 'channelId'>> {
  chat: ChatIdentity;
}

/** Drafts in PostgreSQL: rows of the outbox in the state `draft`. */
export class PostgresDrafts implements Drafts {
  readonly #postgres: Pick<Postgres, 'query' | 'changes'>;

  constructor(postgres: Pick<Postgres, 'query' | 'changes'>) {
    this.#postgres = postgres;
  }

  async list({ accountId, accounts, channelId, chats, after, limit }: DraftQuery): Promise<Draft[]> {
    const conditions = together(
      // The index of states begins with the account.
      [
        accountId === undefined
          ? sql`o.account_id = ANY (ARRAY(SELECT DISTINCT account_id FROM chat))`
          : sql`o.account_id = ${accountId}`,
      ],
      ofAccounts(sql`o.account_id`, accounts),
      ofChats(sql`o.chat_id`, channelId === undefined ? undefined : [channelId], accountId),
      ofChats(sql`o.chat_id`, chats, accountId),
      newerThan(sql`o.message_id`, after),
    );
    return conditions === 'none' ? [] : this.#drafts(allOf(conditions), limit);
  }

  async get(id: string): Promise<Draft | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [draft] = await this.#drafts(sql`o.message_id = ${key}::bigint`, 1);
    return draft;
  }

  async approve(id: string, text?: string): Promise<QueuedReply[] | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const rows = await withStorage('approving a draft', () =>
      this.#postgres.query<ReplyRow>(sql`
        SELECT outbox_id::text, message_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media, quote,
          timer_seconds
        FROM draft_approve(${key}::bigint, ${text === undefined ? null : cleanText(text)})`),
    );
    if (rows.length === 0) return undefined;
    const replies = rows.map(queuedReply);
    this.#report(id, 'approved', replies[0]);
    reportReplies(this.#postgres.changes, replies);
    return replies;
  }

  async drop(id: string): Promise<boolean> {
    const key = rowId(id);
    if (key === undefined) return false;
    const [row] = await withStorage('dropping a draft', () =>
      this.#postgres.query<{ dropped: boolean }>(sql`SELECT draft_drop(${key}::bigint) AS dropped`),
    );
    const isDropped = row?.dropped ?? false;
    if (isDropped) this.#report(id, 'dropped');
    return isDropped;
  }

  #report(id: string, change: 'approved' | 'dropped', reply?: QueuedReply): void {
    const { chatId, message } = reply ?? {};
    this.#postgres.changes.report({ type: 'draft', accountId: message?.accountId, chatId, id, change });
  }

  async #drafts(condition: Sql, limit: number): Promise<Draft[]> {
    const rows = await withStorage('reading drafts', () =>
      this.#postgres.query<StoredDraft>(sql`
        SELECT m.id::text, m.account_id AS "accountId", m.chat_id::text AS "chatId", m.push_name AS "pushName",
          c.group_name AS "groupName", m.text AS question, d.created_at AS "createdAt", d.replies,
          json_build_object('phone', c.phone, 'lid', c.lid, 'groupId', c.group_id) AS chat
        FROM (
          SELECT o.message_id, min(o.queued_at) AS created_at,
            json_agg(json_strip_nulls(json_build_object('text', o.text, 'media', o.media)) ORDER BY o.ordinal) AS replies
          FROM outbox o WHERE o.state = 'draft' AND ${condition}
          GROUP BY o.message_id ORDER BY o.message_id LIMIT ${limit}::integer) d
        JOIN message m ON m.id = d.message_id JOIN chat c ON c.id = m.chat_id ORDER BY m.id`),
    );
    return rows.map(({ chat, ...row }) => ({ ...withoutNulls(row), channelId: channelIdOfChat(chat) }));
  }
}
