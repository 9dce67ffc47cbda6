import sql, { empty, type Sql } from 'sql-template-tag';
import {
  type ChatIdentity,
  channelIdOfChat,
  pendingTurn,
  type StoredTurn,
} from '../../core/messages/chat-identity.ts';
import type {
  AgentSession,
  FollowedRow,
  ListedTask,
  NewReport,
  RemoteTasks,
  SessionKey,
  StoredTask,
  TaskListQuery,
  TaskOwner,
} from '../../core/tasks.ts';
import { cleanText } from '../../core/text.ts';
import type { QueuedReply } from '../../core/turns/turn.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { allOf, ofAccounts, ofChats, olderThan, together } from '../../infra/db/stores/log-conditions.ts';
import { filesJson } from '../../infra/db/stores/postgres-message-files.ts';
import { reportReplies } from '../../infra/db/stores/postgres-outbox.ts';
import {
  type Columns,
  queuedReply,
  type ReplyRow,
  rowId,
  storableId,
  storableJson,
  storableOrNull,
  withoutNulls,
} from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import { packExchanges } from '../../infra/db/stores/stored-exchanges.ts';

/** Tasks of one chat that a list shows. */
const MAX_LISTED = 100;

interface TaskRow {
  remoteId: string;
  isOpen: boolean;
}

type FollowedColumns = StoredTurn & {
  taskId: string;
  remoteId: string;
  routeId: string;
  reports: number;
  position: string | null;
  ageMs: number;
};

interface ListedColumns extends Columns<Omit<ListedTask, 'channelId'>> {
  chat: ChatIdentity;
}

/**
 * Tasks of agents and sessions at agents in PostgreSQL. Each method is one statement; prisma/functions/tasks.sql has what
 * changes several tables.
 */
export class PostgresRemoteTasks implements RemoteTasks {
  readonly #postgres: Pick<Statements, 'query' | 'execute' | 'changes' | 'files'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute' | 'changes' | 'files'>) {
    this.#postgres = postgres;
  }

  async add({ accountId, messageId, routeId }: TaskOwner, remoteId: string): Promise<void> {
    const [added] = await withStorage('storing a task of an agent', () =>
      this.#postgres.query<{ id: string; chatId: string | null }>(sql`
        INSERT INTO remote_task AS t (account_id, message_id, route_id, remote_id)
        VALUES (${accountId}, ${messageId}::bigint, ${routeId}, ${storableId(remoteId)})
        ON CONFLICT (message_id, route_id, remote_id) DO NOTHING
        RETURNING t.id::text, (SELECT m.chat_id::text FROM message m WHERE m.id = t.message_id) AS "chatId"`),
    );
    if (!added) return;
    const { id, chatId } = added;
    this.#postgres.changes.report({ type: 'task', accountId, ...(chatId !== null && { chatId }), id });
  }

  async ofMessage({ messageId, routeId }: TaskOwner): Promise<StoredTask[]> {
    return await withStorage('reading the tasks of a message', () =>
      this.#postgres.query<TaskRow>(sql`
        SELECT remote_id AS "remoteId", state = 'open' AS "isOpen" FROM remote_task
        WHERE message_id = ${messageId}::bigint AND route_id = ${routeId} ORDER BY id`),
    );
  }

  async ofChat({ messageId, routeId }: TaskOwner): Promise<StoredTask[]> {
    return await withStorage('reading the tasks of a chat', () =>
      this.#postgres.query<TaskRow>(sql`
        SELECT t.remote_id AS "remoteId", t.state = 'open' AS "isOpen"
        FROM message own JOIN message m ON m.chat_id = own.chat_id JOIN remote_task t ON t.message_id = m.id
        WHERE own.id = ${messageId}::bigint AND t.route_id = ${routeId} ORDER BY t.id DESC LIMIT ${MAX_LISTED}`),
    );
  }

  async known(routeId: string, remoteIds: readonly string[]): Promise<string[]> {
    const ids = remoteIds.map(storableId);
    const rows = await withStorage('looking for tasks of an agent', () =>
      this.#postgres.query<{ remote_id: string }>(sql`
        SELECT DISTINCT remote_id FROM remote_task WHERE route_id = ${routeId} AND remote_id = ANY (${ids}::text[])`),
    );
    return rows.map((row) => row.remote_id);
  }

  async unfollowed(limit: number): Promise<string[]> {
    const rows = await withStorage('looking for running tasks of agents', () =>
      this.#postgres.query<{ id: string }>(sql`
        SELECT id::text FROM remote_task_unfollowed(${limit}::integer) AS open (id) ORDER BY open.id`),
    );
    return rows.map(({ id }) => id);
  }

  async startedBy(messageId: string): Promise<string | undefined> {
    const [row] = await withStorage('looking for the task of a message', () =>
      this.#postgres.query<{ id: string }>(sql`
        SELECT t.id::text FROM remote_task t JOIN message m ON m.id = t.message_id AND m.route_id = t.route_id
        WHERE m.id = ${messageId}::bigint AND t.state = 'open' AND m.state = 'answered' AND m.reason = 'task-started'
        ORDER BY t.id DESC LIMIT 1`),
    );
    return row?.id;
  }

  async followed(taskId: string): Promise<FollowedRow | undefined> {
    const [row] = await withStorage('reading a task of an agent', () =>
      this.#postgres.query<FollowedColumns>(sql`
        SELECT t.id::text AS "taskId", t.remote_id AS "remoteId", t.route_id AS "routeId", t.reports, t.position,
               (extract(epoch FROM now() - t.created_at) * 1000)::bigint::float8 AS "ageMs",
               m.id::text AS "messageId", m.chat_id::text AS "chatId", m.account_id AS "accountId",
               m.wa_message_id AS "waMessageId", m.sender_phone AS "senderPhone", m.sender_lid AS "senderLid",
               m.push_name AS "pushName", m.kind, m.text, m.quoted_text AS "quotedText", m.media,
               c.reply_to AS "replyTo", m.edit_of AS "editOf", m.mentions,
               json_build_object('phone', c.phone, 'lid', c.lid, 'groupId', c.group_id, 'username', c.username) AS chat,
               (extract(epoch FROM m.sent_at) * 1000)::bigint::float8 AS "sentAtMs",
               (extract(epoch FROM m.received_at) * 1000)::bigint::float8 AS "receivedAtMs"
        FROM remote_task t JOIN message m ON m.id = t.message_id JOIN chat c ON c.id = m.chat_id
        WHERE t.id = ${taskId}::bigint AND t.state = 'open' AND m.state = 'answered' AND m.reason = 'task-started'
          AND m.route_id = t.route_id
          AND NOT EXISTS (SELECT 1 FROM remote_task n WHERE n.message_id = t.message_id AND n.id > t.id)`),
    );
    if (!row) return undefined;
    const { messageId, chatId, accountId, message, replyTo } = pendingTurn(row);
    const { remoteId, routeId, reports, ageMs } = row;
    const position = row.position === null ? {} : { position: row.position };
    return {
      taskId,
      remoteId,
      routeId,
      accountId,
      chatId,
      messageId,
      message,
      replyTo,
      reports,
      ageMs,
      ...position,
    };
  }

  async report(
    taskId: string,
    { number, replies, position, end, exchanges }: NewReport,
  ): Promise<QueuedReply[]> {
    const failure = end?.state === 'failed' ? end : undefined;
    const to = replies.map((reply) => reply.to);
    const waIds = replies.map((reply) => storableId(reply.waMessageId));
    const texts = replies.map((reply) => cleanText(reply.text));
    const files = await filesJson(replies, this.#postgres.files);
    // The statement sees the task as it was before the report.
    const stored = exchanges
      ? sql`, exchanges AS (
          INSERT INTO agent_exchange (message_id, data)
          SELECT t.message_id, ${packExchanges(exchanges)}::bytea FROM remote_task t JOIN message m ON m.id = t.message_id
          WHERE t.id = ${taskId}::bigint AND t.state = 'open' AND t.reports = ${number}::integer - 1
            AND m.state = 'answered')`
      : empty;
    const rows = await withStorage('storing a report of a task', () =>
      this.#postgres.query<ReplyRow>(sql`
        WITH reply AS MATERIALIZED (SELECT outbox_id::text, message_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media,
          timer_seconds
        FROM remote_task_report(${taskId}::bigint, ${number}::integer, ${storableOrNull(position)}, ${end?.state ?? null},
          ${storableOrNull(failure?.reason)}, ${storableOrNull(failure?.error)},
          ${to}::text[], ${waIds}::text[], ${texts}::text[], ${files}::jsonb, ${storableJson(failure?.phrase)}::jsonb))${stored}
        SELECT * FROM reply ORDER BY outbox_id::bigint`),
    );
    const reported = rows.map(queuedReply);
    const { chatId, message } = reported[0] ?? {};
    const { accountId } = message ?? {};
    this.#postgres.changes.report({ type: 'task', accountId, chatId, id: taskId, state: end?.state });
    reportReplies(this.#postgres.changes, reported);
    return reported;
  }

  async list({
    accountId,
    state,
    chats,
    accounts,
    routes,
    before,
    limit,
  }: TaskListQuery): Promise<ListedTask[]> {
    const conditions = together(
      accountId === undefined ? [] : [sql`t.account_id = ${accountId}`],
      state === undefined ? [] : [sql`t.state = ${state}`],
      routes === undefined ? [] : [sql`t.route_id = ANY (${[...routes]}::text[])`],
      ofChats(sql`m.chat_id`, chats, accountId),
      ofAccounts(sql`t.account_id`, accounts),
      olderThan(sql`t.id`, before),
    );
    return conditions === 'none' ? [] : await this.#listed(allOf(conditions), limit);
  }

  async get(taskId: string): Promise<ListedTask | undefined> {
    const key = rowId(taskId);
    if (key === undefined) return undefined;
    const [task] = await this.#listed(sql`t.id = ${key}::bigint`, 1);
    return task;
  }

  async #listed(condition: Sql, limit: number): Promise<ListedTask[]> {
    const rows = await withStorage('reading the tasks of agents', () =>
      this.#postgres.query<ListedColumns>(sql`
        SELECT t.id::text AS id, t.remote_id AS "remoteId", t.route_id AS "routeId", t.account_id AS "accountId",
          m.chat_id::text AS "chatId", m.id::text AS "messageId", nullif(m.push_name, '') AS "pushName", t.state,
          t.created_at AS "createdAt", t.ended_at AS "endedAt",
          json_build_object('phone', c.phone, 'lid', c.lid, 'groupId', c.group_id) AS chat
        FROM remote_task t JOIN message m ON m.id = t.message_id JOIN chat c ON c.id = m.chat_id
        WHERE ${condition} ORDER BY t.id DESC LIMIT ${limit}`),
    );
    return rows.map(({ chat, ...row }) => ({ ...withoutNulls(row), channelId: channelIdOfChat(chat) }));
  }

  async session({ accountId, routeId, sessionId }: SessionKey): Promise<AgentSession | undefined> {
    const ofKey = sql`account_id = ${accountId} AND route_id = ${routeId} AND session_id = ${sessionId}`;
    const [row] = await withStorage('reading a session at an agent', () =>
      this.#postgres.query<{ context_id: string; task_id: string | null }>(sql`
        WITH used AS (
          UPDATE agent_session SET used_at = now() WHERE ${ofKey} AND used_at < now() - interval '1 day')
        SELECT context_id, task_id FROM agent_session WHERE ${ofKey}`),
    );
    return row && { contextId: row.context_id, ...(row.task_id !== null && { taskId: row.task_id }) };
  }

  async saveSession({ accountId, routeId, sessionId }: SessionKey, session: AgentSession): Promise<void> {
    await withStorage('storing a session at an agent', () =>
      this.#postgres.execute(sql`
        INSERT INTO agent_session (account_id, route_id, session_id, context_id, task_id)
        VALUES (${accountId}, ${routeId}, ${sessionId}, ${storableId(session.contextId)}, ${storableOrNull(session.taskId)})
        ON CONFLICT (account_id, route_id, session_id) DO UPDATE
          SET context_id = excluded.context_id, task_id = excluded.task_id, used_at = now()`),
    );
  }
}
