import type { ChatPosition, ChatQuery, ChatRow, ChatStore } from '../../core/ports/chat-store.ts';
import type {
  MessageLog,
  MessageQuery,
  ReceivedMessage,
  SentMessageRow,
} from '../../core/ports/message-log.ts';
import type { OutboxState } from '../../core/ports/outbox.ts';
import { pageOf } from '../../infra/operations/paging.ts';

/** States of messages sent. */
export const SENT_STATES = [
  'draft',
  'queued',
  'sending',
  'sent',
  'acked',
  'delivered',
  'read',
  'dead',
] as const;

/** A search in all chats reads the messages of so many ids, then returns what it found. */
export const SEARCH_SPAN = 50_000n;

/** A search in one chat reads so many messages received and as many sent, then returns what it found. */
const SEARCH_ROWS = 20_000;

/** Which messages, as a request names them. */
export interface MessagePageQuery extends Omit<MessageQuery, 'before' | 'after'> {
  direction: 'incoming' | 'outgoing' | 'all';
  cursor?: string;
}

type AnyMessage = ReceivedMessage | SentMessageRow;

/**
 * A page of messages, newest first. A search for a text has no index: it reads a limited part of the messages and returns a
 * cursor with which it goes on, also when it found nothing.
 * @throws {StorageUnavailableError}
 */
export async function messagePage(messageLog: MessageLog, query: MessagePageQuery) {
  const { text, limit } = query;
  const span = text === undefined ? undefined : await searchSpan(messageLog, query);
  const page = pageOf(await listed(messageLog, { ...query, ...span }), limit, ({ id }) => id);
  if (page.next !== undefined || span?.after === undefined) return page;
  return { ...page, next: String(BigInt(span.after) + 1n) };
}

/** Which messages a search reads: those with a smaller id than `cursor` and a larger one than `after`. */
async function searchSpan(
  messageLog: MessageLog,
  { cursor, accountId, channelId, chatId }: MessagePageQuery,
): Promise<{ cursor?: string; after?: string }> {
  if (channelId !== undefined || chatId !== undefined) {
    const chat = { accountId, channelId, chatId, before: cursor };
    return { after: await messageLog.searchEnd(chat, SEARCH_ROWS) };
  }
  const start = cursor ?? String(BigInt((await messageLog.newestId()) ?? 0) + 1n);
  const after = BigInt(start) - SEARCH_SPAN;
  return { cursor: start, ...(after > 0n && { after: String(after) }) };
}

/** The entries of a page, and one more if there are more. */
async function listed(
  messageLog: MessageLog,
  { direction, cursor, state, routeId, from, limit, ...filter }: MessagePageQuery & { after?: string },
): Promise<AnyMessage[]> {
  const page = { ...filter, before: cursor, limit: limit + 1 };
  const received =
    direction === 'outgoing' ? [] : await messageLog.messages({ ...page, state, routeId, from });
  const sentState = sentStateOf(state);
  // Sender and route are known of messages received only.
  const isReceivedOnly = direction === 'incoming' || from !== undefined || routeId !== undefined;
  const sent =
    isReceivedOnly || sentState === 'none'
      ? []
      : await messageLog.sentMessages({ ...page, state: sentState });
  return [...received, ...sent].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
}

/** The state as a state of messages sent; `none` if they do not have it. */
function sentStateOf(state: string | undefined): OutboxState | undefined | 'none' {
  if (state === undefined) return undefined;
  return SENT_STATES.find((known) => known === state) ?? 'none';
}

/** A search for a text reads so many chats, then returns what it found. */
const SEARCH_CHATS = 20_000;

/**
 * A page of chats, last active first. A search for a text has no index: it reads a limited number of chats and returns a
 * cursor with which it goes on, also when it found nothing.
 * @throws {StorageUnavailableError}
 */
export async function chatPage(chatStore: Pick<ChatStore, 'list' | 'searchEnd'>, query: ChatQuery) {
  const { text, limit } = query;
  const end = text === undefined ? undefined : await chatStore.searchEnd(query, SEARCH_CHATS);
  const found = await chatStore.list({ ...query, upTo: end, limit: limit + 1 });
  const page = pageOf<ChatRow>(found, limit, ({ activeAt, id }) =>
    cursorOf({ activeAtMs: activeAt.getTime(), id }),
  );
  return page.next !== undefined || !end ? page : { ...page, next: cursorOf(end) };
}

/** `1769860800310-17`: a position of the list, as a page names it. */
function cursorOf({ activeAtMs, id }: ChatPosition): string {
  return `${activeAtMs}-${id}`;
}
