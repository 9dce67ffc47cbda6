import sql from 'sql-template-tag';
import { canonicalChannelId, lidJid, parseJid } from '../../../core/chat-id.ts';
import { channelIdOfChat, personJid } from '../../../core/messages/chat-identity.ts';
import type {
  DeadLetterRow,
  LogQuery,
  MessageLog,
  MessageRow,
  OpenWork,
} from '../../../core/ports/message-log.ts';
import type { Chat, Message, Outbox, Prisma } from '../generated/client.ts';
import type { Postgres } from '../postgres.ts';
import { mediaInfo } from './media-columns.ts';
import { outboxRow } from './outbox-row.ts';
import { rowId } from './storable-text.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

const OPEN_REPLY_STATES = new Set(['queued', 'sending', 'sent']);

/** Reads messages and dead letters from PostgreSQL: a page costs two or three statements however many rows it has. */
export class PostgresMessageLog implements MessageLog {
  readonly #postgres: Pick<Postgres, 'prisma' | 'query'>;
  readonly #ackTimeoutMs: number;

  /** @param options.ackTimeoutMs when a sent reply counts as unacknowledged; default 30,000 */
  constructor(postgres: Pick<Postgres, 'prisma' | 'query'>, options: { ackTimeoutMs?: number } = {}) {
    this.#postgres = postgres;
    this.#ackTimeoutMs = options.ackTimeoutMs ?? 30_000;
  }

  async messages(query: LogQuery): Promise<MessageRow[]> {
    const before = beforeId(query);
    if (before === 'none') return [];
    const chat = chatFilter(query.channelId);
    if (chat === 'none') return [];
    return withStorage('reading messages', () =>
      this.#messages({
        where: { accountId: query.accountId, state: query.state, id: before && { lt: before }, chat },
        orderBy: { id: 'desc' },
        take: query.limit,
      }),
    );
  }

  async message(id: string): Promise<MessageRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const rows = await withStorage('reading a message', () => this.#messages({ where: { id: key } }));
    return rows[0];
  }

  /** `state` narrows to `open` (not replayed) or `replayed`. */
  async deadLetters(query: LogQuery): Promise<DeadLetterRow[]> {
    const before = beforeId(query);
    const chat = chatFilter(query.channelId);
    if (before === 'none' || chat === 'none') return [];
    return withStorage('reading dead letters', async () => {
      const chats =
        chat &&
        (await this.#postgres.prisma.chat.findMany({ where: { ...chat, accountId: query.accountId } }));
      const rows = await this.#postgres.prisma.deadLetter.findMany({
        where: {
          accountId: query.accountId,
          id: before && { lt: before },
          chatId: chats && { in: chats.map((found) => found.id) },
          reason: query.reason,
          ...replayedFilter(query.state),
        },
        orderBy: { id: 'desc' },
        take: query.limit,
      });
      return rows.map((row) => ({
        id: String(row.id),
        accountId: row.accountId,
        chatId: String(row.chatId),
        messageId: row.messageId === null ? undefined : String(row.messageId),
        outboxId: row.outboxId === null ? undefined : String(row.outboxId),
        reason: row.reason,
        error: row.error,
        attempts: row.attempts,
        trace: row.trace ?? undefined,
        createdAt: row.createdAt,
        replayedAt: row.replayedAt ?? undefined,
      }));
    });
  }

  /** Each part has a partial index of its own: ended rows, which stay for good, are never read. */
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
        UNION ALL SELECT 'dead_letter', count(*)::integer, NULL FROM dead_letter WHERE replayed_at IS NULL`),
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

  async #messages(args: {
    where: Prisma.MessageWhereInput;
    orderBy?: Prisma.MessageOrderByWithRelationInput;
    take?: number;
  }): Promise<MessageRow[]> {
    const rows = await this.#readable(args);
    if (rows.length === 0) return [];
    const replies = await this.#repliesTo(rows.map((row) => row.id));
    return rows.map((row) =>
      messageRow(
        row,
        replies.filter((reply) => reply.messageId === row.id),
      ),
    );
  }

  /** A row that cannot be read must not hide the others of its page: they are then read one by one, and it without its texts. */
  async #readable(args: Prisma.MessageFindManyArgs): Promise<MessageWithChat[]> {
    const { message } = this.#postgres.prisma;
    try {
      return await withStorage('reading messages', () =>
        message.findMany({ ...args, include: { chat: true } }),
      );
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const texts = { text: true, quotedText: true, trace: true, error: true } as const;
    const rows = await withStorage('reading messages', () =>
      message.findMany({ ...args, omit: texts, include: { chat: true } }),
    );
    return Promise.all(
      rows.map(async (row) => {
        const found = await orUndefined(() =>
          message.findFirstOrThrow({ where: { id: row.id }, select: texts }),
        );
        return { ...row, ...(found ?? { text: '', quotedText: null, trace: null, error: DAMAGED_TEXT }) };
      }),
    );
  }

  async #repliesTo(messageIds: bigint[]): Promise<Outbox[]> {
    const { outbox } = this.#postgres.prisma;
    const args = { where: { messageId: { in: messageIds } }, orderBy: { id: 'asc' as const } };
    try {
      return await withStorage('reading replies', () => outbox.findMany(args));
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const rows = await withStorage('reading replies', () =>
      outbox.findMany({ ...args, omit: { text: true } }),
    );
    return Promise.all(
      rows.map(async (row) => {
        const found = await orUndefined(() =>
          outbox.findFirstOrThrow({ where: { id: row.id }, select: { text: true } }),
        );
        return { ...row, ...(found ?? { text: '', error: DAMAGED_TEXT }) };
      }),
    );
  }
}

type MessageWithChat = Message & { chat: Chat };

const DAMAGED_TEXT = 'The database cannot read the text of this row: it is damaged.';

/** `read` must be no `findUnique`: Prisma puts several of one moment into one statement. */
async function orUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await withStorage('reading one row', read);
  } catch (error) {
    if (error instanceof StorageDamagedError) return undefined;
    throw error;
  }
}

function beforeId(query: LogQuery): bigint | undefined | 'none' {
  if (query.before === undefined) return undefined;
  return rowId(query.before) ?? 'none';
}

/** The chats of a channelId as an admin writes it; 'none' when it can be no chat. */
export function chatFilter(channelId: string | undefined): Prisma.ChatWhereInput | undefined | 'none' {
  if (channelId === undefined) return undefined;
  const canonical = canonicalChannelId(channelId);
  if (canonical === undefined) return 'none';
  if (!canonical.includes('@')) return canonical === '*' ? 'none' : { phone: canonical };
  const address = parseJid(canonical);
  if (address?.kind === 'lid') return { lid: address.lid };
  return address?.kind === 'group' ? { groupId: address.groupId } : 'none';
}

function replayedFilter(state: string | undefined): Prisma.DeadLetterWhereInput {
  if (state === 'open') return { replayedAt: null };
  return state === 'replayed' ? { replayedAt: { not: null } } : {};
}

function messageRow(row: Omit<Message, 'mediaRef'> & { chat: Chat }, replies: Outbox[]): MessageRow {
  const lid = row.senderLid ?? undefined;
  return {
    id: String(row.id),
    accountId: row.accountId,
    chatId: String(row.chatId),
    channelId: channelIdOfChat(row.chat),
    waMessageId: row.waMessageId,
    from: personJid({ phone: row.senderPhone, lid }) ?? row.chat.replyTo,
    fromLid: lid && lidJid(lid),
    pushName: row.pushName ?? undefined,
    kind: row.kind,
    text: row.text,
    quotedText: row.quotedText ?? undefined,
    media: mediaInfo(row.media),
    state: row.state,
    reason: row.reason ?? undefined,
    error: row.error ?? undefined,
    routeId: row.routeId ?? undefined,
    attempts: row.attempts,
    agentMs: row.agentMs ?? undefined,
    trace: row.trace ?? undefined,
    sentAt: row.sentAt,
    receivedAt: row.receivedAt,
    finishedAt: row.finishedAt ?? undefined,
    replies: replies.map(outboxRow),
  };
}
