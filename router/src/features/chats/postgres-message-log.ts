import sql, { type Sql } from 'sql-template-tag';
import type { AgentExchange } from '../../core/agent-exchange.ts';
import { lidJid } from '../../core/chat-id.ts';
import { type SpecialMessage, specialView } from '../../core/delivery/special-message.ts';
import {
  type ChatIdentity,
  channelIdOfChat,
  channelIdsOf,
  personJid,
  type StoredDetails,
} from '../../core/messages/chat-identity.ts';
import type { IncomingMessage, Quote } from '../../core/models.ts';
import type { Phrase } from '../../core/phrases.ts';
import type { FirstContact } from '../../core/policies/governor.ts';
import type {
  DeadLetterGroup,
  DeadLetterGroupQuery,
  DeadLetterQuery,
  DeadLetterRow,
  DeadLetterState,
  MessageLog,
  MessageQuery,
  OpenWork,
  OutgoingWork,
  ReceivedMessage,
  SentMessageRow,
  SentQuery,
} from '../../core/ports/message-log.ts';
import type { StoredMessageToRoute } from '../../core/routing/when.ts';
import type { Postgres } from '../../infra/db/postgres.ts';
import {
  allOf,
  containing,
  duringPeriod,
  fromPerson,
  newerThan,
  notLocked,
  ofAccounts,
  ofChat,
  ofChats,
  ofStoredChat,
  olderThan,
  together,
} from '../../infra/db/stores/log-conditions.ts';
import { type Columns, OUTBOX_COLUMNS, rowId, withoutNulls } from '../../infra/db/stores/rows.ts';
import { StorageDamagedError, withStorage } from '../../infra/db/stores/storage-errors.ts';
import { unpackExchanges } from '../../infra/db/stores/stored-exchanges.ts';

/** Last turns and reports of a task whose exchanges are shown, besides the first turn: a message that is replayed has several. */
const MAX_TURNS = 5;
const OPEN_REPLY_STATES = new Set(['queued', 'sending', 'sent']);

/** How far back messages are searched for those that had a route; ids of messages and replies come from one sequence. */
const SEARCHED_IDS = 50_000;

const DAMAGED_TEXT = 'The database cannot read the text of this row: it is damaged.';

/** Columns of `chat c`: the chat's address. */
const CHAT = sql`c.phone, c.lid, c.group_id AS "groupId", c.username`;

/** Everything of a message but its texts. */
const MESSAGES = sql`
  SELECT m.id::text, m.account_id AS "accountId", m.chat_id::text AS "chatId", m.wa_message_id AS "waMessageId",
    m.sender_phone AS "senderPhone", m.sender_lid AS "senderLid", m.push_name AS "pushName", m.kind, m.media, m.state,
    m.reason, m.edit_of AS "editOf", nullif(m.edits, 0) AS edits, m.view_once AS "viewOnce",
    CASE WHEN m.media_ref IS NOT NULL THEN true END AS "hasFile", m.route_id AS "routeId", m.attempts, m.agent_ms AS "agentMs", m.sent_at AS "sentAt",
    m.received_at AS "receivedAt", m.finished_at AS "finishedAt", c.reply_to AS "replyTo", ${CHAT}
  FROM message m JOIN chat c ON c.id = m.chat_id`;

/** What ended well after all has no error any more. */
const ERROR_PHRASE = sql`CASE WHEN error IS NOT NULL THEN phrase END AS phrase`;

/** Everything of a sent message but its texts. */
const SENT = sql`
  SELECT ${OUTBOX_COLUMNS}, o.message_id::text AS "messageId", d.id::text AS "deadLetterId", d.reason,
    CASE WHEN o.by_hand THEN true END AS "byHand",
    CASE WHEN o.message_id IS NULL AND o.idempotency_key ~ '^(slow|access|draft|owner-command)-' THEN true END AS "isNotice",
    CASE WHEN EXISTS (SELECT 1 FROM outbox_file f WHERE f.outbox_id = o.id AND (f.bytes IS NOT NULL OR f.location IS NOT NULL)) THEN true END AS "hasFile", ${CHAT}
  FROM outbox o JOIN chat c ON c.id = o.chat_id
  LEFT JOIN dead_letter d ON o.state = 'dead' AND coalesce(d.outbox_id, d.message_id) = o.id`;

/** Everything of a dead letter but its texts. */
const DEAD_LETTERS = sql`
  SELECT d.id::text, d.account_id AS "accountId", d.chat_id::text AS "chatId", d.message_id::text AS "messageId",
    d.outbox_id::text AS "outboxId", d.reason, d.error, d.phrase, d.attempts, d.created_at AS "createdAt",
    d.failed_at AS "failedAt", d.replayed_at AS "replayedAt", d.closed_at AS "closedAt", o.to_jid AS "to",
    m.id IS NOT NULL AS "hasMessage", m.sender_phone AS "senderPhone", m.sender_lid AS "senderLid",
    m.push_name AS "pushName", c.group_name AS "groupName", c.reply_to AS "replyTo", ${CHAT}
  FROM dead_letter d LEFT JOIN chat c ON c.id = d.chat_id
  LEFT JOIN message m ON m.id = d.message_id LEFT JOIN outbox o ON o.id = d.outbox_id`;

/** What a person or an agent wrote, which may be long and therefore damaged without the rest of its row. */
interface Texts {
  text: string;
  quotedText?: string;
  trace?: unknown;
  error?: string;
  phrase?: Phrase;
  details?: StoredDetails;
  special?: SpecialMessage;
  quote?: Quote;
}

type TextsRow = Columns<Omit<Texts, 'text'>> & { id: string; text: string | null };

/** Addresses of a row, from which its channelId and the writer's JID are made. */
interface Addresses {
  phone?: string;
  lid?: string;
  groupId?: string;
  senderPhone?: string;
  senderLid?: string;
  replyTo?: string;
}

/** The columns of a `T` that is made of them, its texts and `Computed`. */
type RowOf<T, Computed extends keyof T> = Columns<
  Omit<T, 'direction' | 'channelId' | 'from' | 'text' | Computed> & Addresses
>;

type MessageRow = RowOf<
  ReceivedMessage,
  'fromLid' | 'quotedText' | 'error' | 'phrase' | 'trace' | 'replies' | 'card' | 'about'
>;
type ToRouteRow = Columns<
  Omit<StoredMessageToRoute, 'channelIds' | 'message' | 'given'> &
    ChatIdentity &
    Pick<IncomingMessage, 'kind' | 'media' | 'viewOnce'>
>;
type SentRow = RowOf<SentMessageRow, 'error' | 'phrase' | 'special' | 'quote'>;
type LetterRow = RowOf<DeadLetterRow, 'state' | 'trace'> & { hasMessage: boolean };

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
      newerThan(sql`m.id`, query.after),
      ofStoredChat(sql`m.chat_id`, query.chatId),
      ofChat(sql`m.chat_id`, query.channelId, query.accountId),
      ofChats(sql`m.chat_id`, query.chats, query.accountId),
      ofAccounts(sql`m.account_id`, query.accounts),
      fromPerson(query.from),
      duringPeriod(sql`m.received_at`, query),
      containing(sql`m.text`, query.text),
      notLocked(sql`m.chat_id`, query),
      query.accountId === undefined ? [] : [sql`m.account_id = ${query.accountId}`],
      query.state === undefined ? [] : [sql`m.state = ${query.state}`],
      query.routeId === undefined ? [] : [sql`m.route_id = ${query.routeId}`],
    );
    if (conditions === 'none') return [];
    return this.#messageRows(
      sql`WHERE ${allOf(conditions)} ORDER BY m.id ${direction(query)} LIMIT ${query.limit}::integer`,
    );
  }

  async message(id: string): Promise<ReceivedMessage | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#messageRows(sql`WHERE m.id = ${key}::bigint`);
    return row;
  }

  async exchanges(id: string): Promise<AgentExchange[]> {
    const rows = await withStorage('reading the exchanges with agents of a message', () =>
      this.#postgres.query<{ data: Uint8Array }>(sql`
        (SELECT id, data FROM agent_exchange WHERE message_id = ${id}::bigint ORDER BY id LIMIT 1)
        UNION (SELECT id, data FROM agent_exchange WHERE message_id = ${id}::bigint ORDER BY id DESC LIMIT ${MAX_TURNS}::integer)
        ORDER BY id`),
    );
    return rows.flatMap(({ data }) => unpackExchanges(data));
  }

  async messagesToRoute({
    accountId,
    limit,
  }: Parameters<MessageLog['messagesToRoute']>[0]): Promise<StoredMessageToRoute[]> {
    const ofAccount = accountId === undefined ? [] : [sql`m.account_id = ${accountId}`];
    const rows = await withStorage('reading messages', () =>
      this.#postgres.query<ToRouteRow>(sql`
        SELECT m.id::text AS "messageId", m.chat_id::text AS "chatId", m.account_id AS "accountId", m.kind, m.media,
          m.view_once AS "viewOnce", m.to_us AS "toUs", ${CHAT},
          (extract(epoch FROM m.received_at) * 1000)::bigint::float8 AS "receivedAtMs"
        FROM message m JOIN chat c ON c.id = m.chat_id
        WHERE ${allOf([
          sql`m.id > (SELECT max(newest.id) FROM message newest) - ${SEARCHED_IDS}::bigint`,
          // The trace of an encrypted edit says why it was not read.
          sql`(m.state = 'received' OR (m.trace IS NOT NULL AND m.reason IS DISTINCT FROM 'encrypted-edit'))`,
          ...ofAccount,
        ])}
        ORDER BY m.id DESC LIMIT ${limit}::integer`),
    );
    const texts = await this.#messageTexts(rows.map(({ messageId }) => messageId));
    return rows.map((row) => messageToRoute(row, texts(row.messageId)));
  }

  async sentMessages(query: SentQuery): Promise<SentMessageRow[]> {
    const conditions = together(
      olderThan(sql`o.id`, query.before),
      newerThan(sql`o.id`, query.after),
      ofStoredChat(sql`o.chat_id`, query.chatId),
      ofChat(sql`o.chat_id`, query.channelId, query.accountId),
      ofChats(sql`o.chat_id`, query.chats, query.accountId),
      ofAccounts(sql`o.account_id`, query.accounts),
      duringPeriod(sql`o.queued_at`, query),
      containing(sql`o.text`, query.text),
      notLocked(sql`o.chat_id`, query),
      query.accountId === undefined ? [] : [sql`o.account_id = ${query.accountId}`],
      query.state === undefined ? [] : [sql`o.state = ${query.state}`],
    );
    if (conditions === 'none') return [];
    return this.#sentRows(
      sql`WHERE ${allOf(conditions)} ORDER BY o.id ${direction(query)} LIMIT ${query.limit}::integer`,
    );
  }

  async sentMessage(id: string): Promise<SentMessageRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#sentRows(sql`WHERE o.id = ${key}::bigint`);
    return row;
  }

  async newestId(): Promise<string | undefined> {
    const [row] = await withStorage('reading the newest message', () =>
      this.#postgres.query<{ id: string | null }>(sql`
        SELECT greatest((SELECT max(id) FROM message), (SELECT max(id) FROM outbox))::text AS id`),
    );
    return row?.id ?? undefined;
  }

  async searchEnd(chat: Parameters<MessageLog['searchEnd']>[0], rows: number): Promise<string | undefined> {
    const ofChatIn = (id: Sql, chatId: Sql) =>
      together(
        olderThan(id, chat.before),
        ofStoredChat(chatId, chat.chatId),
        ofChat(chatId, chat.channelId, chat.accountId),
      );
    const received = ofChatIn(sql`m.id`, sql`m.chat_id`);
    const sent = ofChatIn(sql`o.id`, sql`o.chat_id`);
    if (received === 'none' || sent === 'none') return undefined;
    const [row] = await withStorage('finding the end of a search', () =>
      this.#postgres.query<{ id: string | null }>(sql`
        SELECT greatest(
          (SELECT m.id FROM message m WHERE ${allOf(received)} ORDER BY m.id DESC OFFSET ${rows}::integer LIMIT 1),
          (SELECT o.id FROM outbox o WHERE ${allOf(sent)} ORDER BY o.id DESC OFFSET ${rows}::integer LIMIT 1))::text AS id`),
    );
    return row?.id ?? undefined;
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterRow[]> {
    const conditions = together(
      olderThan(sql`d.id`, query.before),
      newerThan(sql`d.id`, query.after),
      ofStoredChat(sql`d.chat_id`, query.chatId),
      ofChat(sql`d.chat_id`, query.channelId, query.accountId),
      ofChats(sql`d.chat_id`, query.chats, query.accountId),
      ofAccounts(sql`d.account_id`, query.accounts),
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

  async deadLetterGroups({
    accountId,
    channelId,
    chats,
    accounts,
    state,
  }: DeadLetterGroupQuery): Promise<DeadLetterGroup[]> {
    const conditions = together(
      ofChat(sql`d.chat_id`, channelId, accountId),
      ofChats(sql`d.chat_id`, chats, accountId),
      ofAccounts(sql`d.account_id`, accounts),
      accountId === undefined ? [] : [sql`d.account_id = ${accountId}`],
      state === undefined ? [] : [deadLetterIs(state)],
    );
    if (conditions === 'none') return [];
    const rows = await withStorage('counting dead letters', () =>
      this.#postgres.query<Columns<DeadLetterGroup>>(sql`
        SELECT reason, count(*)::integer AS count, max(failed_at) AS "newestAt", min(failed_at) AS "oldestAt",
          (array_agg(error ORDER BY failed_at DESC, id DESC))[1] AS error,
          (array_agg(phrase ORDER BY failed_at DESC, id DESC))[1] AS phrase
        FROM dead_letter d WHERE ${allOf(conditions)} GROUP BY reason ORDER BY count(*) DESC, reason`),
    );
    return rows.map(withoutNulls);
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
            AND attempted_at <= now() - ${this.#ackTimeoutMs}::integer * interval '1 millisecond'
        UNION ALL SELECT 'dead_letter', count(*)::integer, NULL FROM dead_letter
          WHERE replayed_at IS NULL AND closed_at IS NULL
        UNION ALL SELECT 'webhook_event', count(*)::integer, NULL FROM webhook_delivery WHERE state = 'pending'`),
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
      webhookEvents: of('webhook_event'),
    };
  }

  async outgoingWork(accountId: string): Promise<OutgoingWork> {
    const rows = await withStorage('counting what an account has not sent', () =>
      this.#postgres.query<{
        why: string | null;
        phrase: Phrase | null;
        messages: number;
        until: Date | null;
      }>(sql`
        SELECT CASE WHEN delayed_until > now() THEN coalesce(error, '') END AS why, count(*)::integer AS messages,
          min(delayed_until) AS until, (array_agg(phrase))[1] AS phrase
        FROM outbox WHERE account_id = ${accountId} AND state = 'queued' GROUP BY 1 ORDER BY 3, 1`),
    );
    return {
      queued: rows.find(({ why }) => why === null)?.messages ?? 0,
      delayed: rows.flatMap(({ why, phrase, messages, until }) =>
        why === null || until === null ? [] : [{ why, ...(phrase && { phrase }), messages, until }],
      ),
    };
  }

  async firstContacts(accountId: string): Promise<FirstContact> {
    const [row] = await withStorage('reading the first contacts of an account', () =>
      this.#postgres.query<FirstContact>(sql`
        SELECT coalesce(
            (SELECT extract(epoch FROM now() - created_at) * 1000 FROM account WHERE id = ${accountId}), 0
          )::float8 AS "accountAgeMs",
          ARRAY(
            SELECT (extract(epoch FROM now() - first_contact_at) * 1000)::float8 FROM outbox
            WHERE account_id = ${accountId} AND first_contact_at > now() - interval '1 day'
          ) AS "earlierMs"`),
    );
    return row ?? { accountAgeMs: 0, earlierMs: [] };
  }

  async #messageRows(rest: Sql): Promise<ReceivedMessage[]> {
    const rows = await withStorage('reading messages', () =>
      this.#postgres.query<MessageRow>(sql`${MESSAGES} ${rest}`),
    );
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const texts = await this.#messageTexts(ids);
    const replies = await this.#sentRows(sql`WHERE o.message_id = ANY(${ids}::bigint[]) ORDER BY o.id`);
    return rows.map((row) =>
      receivedMessage(
        row,
        texts(row.id),
        replies.filter(({ messageId }) => messageId === row.id),
      ),
    );
  }

  #messageTexts(ids: string[]): Promise<(id: string) => Texts> {
    return this.#textsOf(
      ids,
      (some) =>
        sql`SELECT id::text, text, quoted_text AS "quotedText", trace, error, ${ERROR_PHRASE}, details FROM message WHERE id = ANY(${some}::bigint[])`,
    );
  }

  async #sentRows(rest: Sql): Promise<SentMessageRow[]> {
    const rows = await withStorage('reading sent messages', () =>
      this.#postgres.query<SentRow>(sql`${SENT} ${rest}`),
    );
    if (rows.length === 0) return [];
    const texts = await this.#textsOf(
      rows.map(({ id }) => id),
      (some) =>
        sql`SELECT id::text, text, error, ${ERROR_PHRASE}, special, quote FROM outbox WHERE id = ANY(${some}::bigint[])`,
    );
    return rows.map((row) => sentMessage(row, texts(row.id)));
  }

  async #deadLetterRows(rest: Sql): Promise<DeadLetterRow[]> {
    const rows = await withStorage('reading dead letters', () =>
      this.#postgres.query<LetterRow>(sql`${DEAD_LETTERS} ${rest}`),
    );
    if (rows.length === 0) return [];
    const texts = await this.#textsOf(
      rows.map(({ id }) => id),
      (some) => sql`
        SELECT d.id::text, d.trace, CASE WHEN d.outbox_id IS NULL THEN m.text ELSE o.text END AS text
        FROM dead_letter d LEFT JOIN message m ON m.id = d.message_id LEFT JOIN outbox o ON o.id = d.outbox_id
        WHERE d.id = ANY(${some}::bigint[])`,
    );
    return rows.map((row) => deadLetter(row, texts(row.id)));
  }

  /**
   * The texts of rows, read with one statement. One row that cannot be read must not hide the others: then they are read
   * one by one, and that row gets DAMAGED_TEXT as its error.
   */
  async #textsOf(ids: string[], statement: (ids: string[]) => Sql): Promise<(id: string) => Texts> {
    const read = (some: string[]) =>
      withStorage('reading texts', () => this.#postgres.query<TextsRow>(statement(some)));
    const byId = new Map<string, Texts>();
    const add = (rows: TextsRow[]) => {
      for (const { id, text, ...more } of rows) byId.set(id, { text: text ?? '', ...withoutNulls(more) });
    };
    try {
      add(await read(ids));
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
      for (const id of ids) {
        await read([id]).then(add, (cause: unknown) => {
          if (!(cause instanceof StorageDamagedError)) throw cause;
          byId.set(id, { text: '', error: DAMAGED_TEXT });
        });
      }
    }
    return (id) => byId.get(id) ?? { text: '' };
  }
}

function direction({ isOldestFirst = false }: { isOldestFirst?: boolean }): Sql {
  return isOldestFirst ? sql`ASC` : sql`DESC`;
}

function deadLetterIs(state: DeadLetterState): Sql {
  if (state === 'closed') return sql`d.closed_at IS NOT NULL`;
  if (state === 'replayed') return sql`d.replayed_at IS NOT NULL AND d.closed_at IS NULL`;
  return sql`d.replayed_at IS NULL AND d.closed_at IS NULL`;
}

function receivedMessage(
  row: MessageRow,
  { details, special: _special, quote: _quote, ...texts }: Texts,
  replies: SentMessageRow[],
): ReceivedMessage {
  const { phone, lid, groupId, senderPhone, senderLid, replyTo, ...columns } = row;
  return {
    ...withoutNulls(columns),
    ...texts,
    ...(details?.card && { card: details.card }),
    ...(details?.of !== undefined && { about: details.of }),
    direction: 'incoming',
    channelId: channelIdOfChat({ phone, lid, groupId }),
    from: personJid({ phone: senderPhone, lid: senderLid }) ?? replyTo ?? '',
    fromLid: senderLid === null ? undefined : lidJid(senderLid),
    replies,
  };
}

function messageToRoute(
  { phone, lid, groupId, username, kind, media, viewOnce, toUs, ...row }: ToRouteRow,
  { text, details }: Texts,
): StoredMessageToRoute {
  return {
    ...row,
    channelIds: channelIdsOf({ phone, lid, groupId, username }),
    message: {
      text,
      ...(kind && { kind }),
      ...(media && { media }),
      ...(viewOnce && { viewOnce }),
      ...(details?.card && { card: details.card }),
    },
    ...(toUs && { toUs }),
  };
}

function sentMessage(
  { phone, lid, groupId, ...columns }: SentRow,
  { special, details: _details, ...texts }: Texts,
): SentMessageRow {
  return {
    ...withoutNulls(columns),
    ...texts,
    ...(special && { special: specialView(special) }),
    direction: 'outgoing',
    channelId: channelIdOfChat({ phone, lid, groupId }),
  };
}

function deadLetter(row: LetterRow, texts: Texts): DeadLetterRow {
  const { phone, lid, groupId, senderPhone, senderLid, replyTo, hasMessage, ...columns } = row;
  const from = personJid({ phone: senderPhone, lid: senderLid }) ?? replyTo;
  const replayed = columns.replayedAt ? 'replayed' : 'open';
  return {
    ...texts,
    ...withoutNulls(columns),
    channelId: channelIdOfChat({ phone, lid, groupId }),
    state: columns.closedAt ? 'closed' : replayed,
    from: hasMessage ? (from ?? undefined) : undefined,
  };
}
