import type { ChatPosition, ChatQuery, ChatRow, ChatStore } from '../../core/ports/chat-store.ts';
import { pageOf } from '../../infra/operations/paging.ts';

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
