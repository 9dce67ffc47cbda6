import sql, { type Sql } from 'sql-template-tag';
import { lidJid } from '../../../core/chat-id.ts';
import { channelIdOfChat, personJid } from '../../../core/messages/chat-identity.ts';
import type {
  DeadLetterQuery,
  DeadLetterRow,
  DeadLetterState,
  MessageLog,
  MessageQuery,
  OpenWork,
  ReceivedMessage,
  SentMessageRow,
  SentQuery,
} from '../../../core/ports/message-log.ts';
import type { OutboxState } from '../../../core/ports/outbox.ts';
import type { Postgres } from '../postgres.ts';
import {
  allOf,
  containing,
  duringPeriod,
  fromPerson,
  ofChat,
  olderThan,
  together,
} from './log-conditions.ts';
import { mediaInfo, replyMedia } from './media-columns.ts';
import { rowId } from './storable-text.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

const OPEN_REPLY_STATES = new Set(['queued', 'sending', 'sent']);

const DAMAGED_TEXT = 'The database cannot read the text of this row: it is damaged.';

/** Everything of a message but its texts. */
const MESSAGES = sql`
  SELECT m.id, m.account_id, m.chat_id, m.wa_message_id, m.sender_phone, m.sender_lid, m.push_name, m.kind, m.media,
    m.state, m.reason, m.route_id, m.attempts, m.agent_ms, m.sent_at, m.received_at, m.finished_at,
    c.phone, c.lid, c.group_id, c.reply_to
  FROM message m JOIN chat c ON c.id = m.chat_id`;

/** Everything of a sent message but its texts. */
const SENT = sql`
  SELECT o.id, o.account_id, o.chat_id, o.message_id, o.to_jid, o.wa_message_id, o.media, o.state, o.attempts,
    o.queued_at, o.delayed_until, o.tried_at, o.sent_at, o.acked_at, o.delivered_at, o.read_at,
    c.phone, c.lid, c.group_id, d.id AS dead_letter_id, d.reason
  FROM outbox o JOIN chat c ON c.id = o.chat_id
  LEFT JOIN dead_letter d ON o.state = 'dead' AND coalesce(d.outbox_id, d.message_id) = o.id`;

/** Everything of a dead letter but its texts. */
const DEAD_LETTERS = sql`
  SELECT d.id, d.account_id, d.chat_id, d.message_id, d.outbox_id, d.reason, d.error, d.attempts, d.created_at, d.failed_at,
    d.replayed_at, d.closed_at, o.to_jid, m.id IS NOT NULL AS has_message, m.sender_phone, m.sender_lid, m.push_name,
    c.phone, c.lid, c.group_id, c.reply_to
  FROM dead_letter d LEFT JOIN chat c ON c.id = d.chat_id
  LEFT JOIN message m ON m.id = d.message_id LEFT JOIN outbox o ON o.id = d.outbox_id`;

/** Address columns of a chat. */
interface ChatColumns {
  phone: string | null;
  lid: string | null;
  group_id: string | null;
}

interface MessageColumns extends ChatColumns {
  id: bigint;
  account_id: string;
  chat_id: bigint;
  wa_message_id: string;
  sender_phone: string | null;
  sender_lid: string | null;
  push_name: string | null;
  kind: string;
  media: unknown;
  state: string;
  reason: string | null;
  route_id: string | null;
  attempts: number;
  agent_ms: number | null;
  sent_at: Date;
  received_at: Date;
  finished_at: Date | null;
  reply_to: string;
}

interface SentColumns extends ChatColumns {
  id: bigint;
  account_id: string;
  chat_id: bigint;
  message_id: bigint | null;
  to_jid: string;
  wa_message_id: string;
  media: unknown;
  state: OutboxState;
  attempts: number;
  queued_at: Date;
  delayed_until: Date | null;
  tried_at: Date | null;
  sent_at: Date | null;
  acked_at: Date | null;
  delivered_at: Date | null;
  read_at: Date | null;
  dead_letter_id: bigint | null;
  reason: string | null;
}

interface DeadLetterColumns extends ChatColumns {
  id: bigint;
  account_id: string;
  chat_id: bigint;
  message_id: bigint | null;
  outbox_id: bigint | null;
  reason: string;
  error: string;
  attempts: number;
  created_at: Date;
  failed_at: Date;
  replayed_at: Date | null;
  closed_at: Date | null;
  to_jid: string | null;
  has_message: boolean;
  sender_phone: string | null;
  sender_lid: string | null;
  push_name: string | null;
  reply_to: string | null;
}

/** What a person or an agent wrote, which may be long and therefore damaged without the rest of its row. */
interface Texts {
  id: bigint;
  text: string | null;
  quoted_text?: string | null;
  trace?: unknown;
  error: string | null;
}

/** Reads messages and dead letters from PostgreSQL. A page costs the same few statements, however many rows it has. */
export class PostgresMessageLog implements MessageLog {
  readonly #postgres: Pick<Postgres, 'query'>;
  readonly #ackTimeoutMs: number;

  /** @param options.ackTimeoutMs when a sent reply counts as unacknowledged; default 30,000 */
  constructor(postgres: Pick<Postgres, 'query'>, options: { ackTimeoutMs?: number } = {}) {
    this.#postgres = postgres;
    this.#ackTimeoutMs = options.ackTimeoutMs ?? 30_000;
  }

  async messages(query: MessageQuery): Promise<ReceivedMessage[]> {
    const conditions = together(
      olderThan(sql`m.id`, query.before),
      ofChat(sql`m.chat_id`, query.channelId, query.accountId),
      fromPerson(query.from),
      duringPeriod(sql`m.received_at`, query),
      containing(sql`m.text`, query.text),
      query.accountId === undefined ? [] : [sql`m.account_id = ${query.accountId}`],
      query.state === undefined ? [] : [sql`m.state = ${query.state}`],
      query.routeId === undefined ? [] : [sql`m.route_id = ${query.routeId}`],
    );
    if (conditions === 'none') return [];
    return this.#messageRows(
      sql`WHERE ${allOf(conditions)} ORDER BY m.id DESC LIMIT ${query.limit}::integer`,
    );
  }

  async message(id: string): Promise<ReceivedMessage | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#messageRows(sql`WHERE m.id = ${key}::bigint`);
    return row;
  }

  async sentMessages(query: SentQuery): Promise<SentMessageRow[]> {
    const conditions = together(
      olderThan(sql`o.id`, query.before),
      ofChat(sql`o.chat_id`, query.channelId, query.accountId),
      duringPeriod(sql`o.queued_at`, query),
      containing(sql`o.text`, query.text),
      query.accountId === undefined ? [] : [sql`o.account_id = ${query.accountId}`],
      query.state === undefined ? [] : [sql`o.state = ${query.state}`],
    );
    if (conditions === 'none') return [];
    return this.#sentRows(sql`WHERE ${allOf(conditions)} ORDER BY o.id DESC LIMIT ${query.limit}::integer`);
  }

  async sentMessage(id: string): Promise<SentMessageRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#sentRows(sql`WHERE o.id = ${key}::bigint`);
    return row;
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterRow[]> {
    const conditions = together(
      olderThan(sql`d.id`, query.before),
      ofChat(sql`d.chat_id`, query.channelId, query.accountId),
      fromPerson(query.from),
      duringPeriod(sql`d.failed_at`, query),
      query.accountId === undefined ? [] : [sql`d.account_id = ${query.accountId}`],
      query.reason === undefined ? [] : [sql`d.reason = ${query.reason}`],
      query.state === undefined ? [] : [deadLetterIs(query.state)],
    );
    if (conditions === 'none') return [];
    return this.#deadLetterRows(
      sql`WHERE ${allOf(conditions)} ORDER BY d.id DESC LIMIT ${query.limit}::integer`,
    );
  }

  async deadLetter(id: string): Promise<DeadLetterRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#deadLetterRows(sql`WHERE d.id = ${key}::bigint`);
    return row;
  }

  /** Each part has its own partial index: finished rows are never read. */
  async openWork(): Promise<OpenWork> {
    const rows = await withStorage('counting open work', () =>
      this.#postgres.query<{ kind: string; rows: number; oldestMs: number | null }>(sql`
        SELECT 'message' AS kind, count(*)::integer AS rows,
               (extract(epoch FROM now() - min(received_at)) * 1000)::float8 AS "oldestMs"
          FROM message WHERE state = 'received'
        UNION ALL SELECT state, count(*)::integer, NULL FROM outbox
          WHERE state IN ('queued', 'sending', 'sent') GROUP BY state
        UNION ALL SELECT 'unacknowledged', count(*)::integer, NULL FROM outbox
          WHERE state IN ('sending', 'sent')
            AND tried_at <= now() - ${this.#ackTimeoutMs}::integer * interval '1 millisecond'
        UNION ALL SELECT 'dead_letter', count(*)::integer, NULL FROM dead_letter
          WHERE replayed_at IS NULL AND closed_at IS NULL`),
    );
    const of = (kind: string) => rows.find((row) => row.kind === kind)?.rows ?? 0;
    const replies = rows.filter(({ kind }) => OPEN_REPLY_STATES.has(kind));
    return {
      messages: of('message'),
      // the clock of the database may have been set back since
      oldestMessageMs: Math.max(0, rows.find(({ kind }) => kind === 'message')?.oldestMs ?? 0),
      replies: Object.fromEntries(replies.map((row) => [row.kind, row.rows])),
      unacknowledged: of('unacknowledged'),
      deadLetters: of('dead_letter'),
    };
  }

  async #messageRows(rest: Sql): Promise<ReceivedMessage[]> {
    const rows = await withStorage('reading messages', () =>
      this.#postgres.query<MessageColumns>(sql`${MESSAGES} ${rest}`),
    );
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const texts = await this.#textsOf(
      ids,
      (some) =>
        sql`SELECT id, text, quoted_text, trace, error FROM message WHERE id = ANY(${some}::bigint[])`,
    );
    const replies = await this.#sentRows(sql`WHERE o.message_id = ANY(${ids}::bigint[]) ORDER BY o.id`);
    return rows.map((row) =>
      receivedMessage(
        row,
        texts(row.id),
        replies.filter(({ messageId }) => messageId === String(row.id)),
      ),
    );
  }

  async #sentRows(rest: Sql): Promise<SentMessageRow[]> {
    const rows = await withStorage('reading sent messages', () =>
      this.#postgres.query<SentColumns>(sql`${SENT} ${rest}`),
    );
    if (rows.length === 0) return [];
    const texts = await this.#textsOf(
      rows.map(({ id }) => id),
      (some) => sql`SELECT id, text, error FROM outbox WHERE id = ANY(${some}::bigint[])`,
    );
    return rows.map((row) => sentMessage(row, texts(row.id)));
  }

  async #deadLetterRows(rest: Sql): Promise<DeadLetterRow[]> {
    const rows = await withStorage('reading dead letters', () =>
      this.#postgres.query<DeadLetterColumns>(sql`${DEAD_LETTERS} ${rest}`),
    );
    if (rows.length === 0) return [];
    const texts = await this.#textsOf(
      rows.map(({ id }) => id),
      (some) => sql`
        SELECT d.id, NULL AS error, d.trace, CASE WHEN d.outbox_id IS NULL THEN m.text ELSE o.text END AS text
        FROM dead_letter d LEFT JOIN message m ON m.id = d.message_id LEFT JOIN outbox o ON o.id = d.outbox_id
        WHERE d.id = ANY(${some}::bigint[])`,
    );
    return rows.map((row) => deadLetter(row, texts(row.id)));
  }

  /**
   * The texts of rows, read with one statement. One row that cannot be read must not hide the others: then they are read
   * one by one, and that row gets DAMAGED_TEXT as its error.
   */
  async #textsOf(ids: bigint[], statement: (ids: bigint[]) => Sql): Promise<(id: bigint) => Texts> {
    const read = (some: bigint[]) =>
      withStorage('reading texts', () => this.#postgres.query<Texts>(statement(some)));
    const rows = await read(ids).catch(async (error: unknown) => {
      if (!(error instanceof StorageDamagedError)) throw error;
      const each = await Promise.all(ids.map((id) => read([id]).catch(damagedTexts(id))));
      return each.flat();
    });
    const byId = new Map(rows.map((row) => [row.id, row]));
    return (id) => byId.get(id) ?? { id, text: null, error: null };
  }
}

function damagedTexts(id: bigint): (error: unknown) => Texts[] {
  return (error) => {
    if (error instanceof StorageDamagedError) return [{ id, text: null, error: DAMAGED_TEXT }];
    throw error;
  };
}

function deadLetterIs(state: DeadLetterState): Sql {
  if (state === 'closed') return sql`d.closed_at IS NOT NULL`;
  if (state === 'replayed') return sql`d.replayed_at IS NOT NULL AND d.closed_at IS NULL`;
  return sql`d.replayed_at IS NULL AND d.closed_at IS NULL`;
}

function stateOfDeadLetter(row: DeadLetterColumns): DeadLetterState {
  if (row.closed_at) return 'closed';
  return row.replayed_at ? 'replayed' : 'open';
}

function channelIdOf({ phone, lid, group_id: groupId }: ChatColumns): string {
  return channelIdOfChat({ phone, lid, groupId });
}

function receivedMessage(row: MessageColumns, texts: Texts, replies: SentMessageRow[]): ReceivedMessage {
  const lid = row.sender_lid ?? undefined;
  return {
    direction: 'incoming',
    id: String(row.id),
    accountId: row.account_id,
    chatId: String(row.chat_id),
    channelId: channelIdOf(row),
    waMessageId: row.wa_message_id,
    from: personJid({ phone: row.sender_phone, lid }) ?? row.reply_to,
    fromLid: lid && lidJid(lid),
    pushName: row.push_name ?? undefined,
    kind: row.kind,
    text: texts.text ?? '',
    quotedText: texts.quoted_text ?? undefined,
    media: mediaInfo(row.media),
    state: row.state,
    reason: row.reason ?? undefined,
    error: texts.error ?? undefined,
    routeId: row.route_id ?? undefined,
    attempts: row.attempts,
    agentMs: row.agent_ms ?? undefined,
    trace: texts.trace ?? undefined,
    sentAt: row.sent_at,
    receivedAt: row.received_at,
    finishedAt: row.finished_at ?? undefined,
    replies,
  };
}

function sentMessage(row: SentColumns, texts: Texts): SentMessageRow {
  return {
    direction: 'outgoing',
    id: String(row.id),
    accountId: row.account_id,
    chatId: String(row.chat_id),
    channelId: channelIdOf(row),
    messageId: row.message_id === null ? undefined : String(row.message_id),
    to: row.to_jid,
    waMessageId: row.wa_message_id,
    text: texts.text ?? '',
    media: replyMedia(row.media),
    state: row.state,
    reason: row.reason ?? undefined,
    deadLetterId: row.dead_letter_id === null ? undefined : String(row.dead_letter_id),
    attempts: row.attempts,
    error: texts.error ?? undefined,
    queuedAt: row.queued_at,
    delayedUntil: row.delayed_until ?? undefined,
    triedAt: row.tried_at ?? undefined,
    sentAt: row.sent_at ?? undefined,
    ackedAt: row.acked_at ?? undefined,
    deliveredAt: row.delivered_at ?? undefined,
    readAt: row.read_at ?? undefined,
  };
}

function deadLetter(row: DeadLetterColumns, texts: Texts): DeadLetterRow {
  const writer = personJid({ phone: row.sender_phone, lid: row.sender_lid }) ?? row.reply_to ?? undefined;
  return {
    id: String(row.id),
    accountId: row.account_id,
    chatId: String(row.chat_id),
    channelId: channelIdOf(row),
    messageId: row.message_id === null ? undefined : String(row.message_id),
    outboxId: row.outbox_id === null ? undefined : String(row.outbox_id),
    state: stateOfDeadLetter(row),
    reason: row.reason,
    error: row.error,
    attempts: row.attempts,
    from: row.has_message ? writer : undefined,
    pushName: row.push_name ?? undefined,
    to: row.to_jid ?? undefined,
    text: texts.text ?? '',
    trace: texts.trace ?? undefined,
    createdAt: row.created_at,
    failedAt: row.failed_at,
    replayedAt: row.replayed_at ?? undefined,
    closedAt: row.closed_at ?? undefined,
  };
}
