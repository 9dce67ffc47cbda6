import type { Chat } from '../../conversation/chat-types.ts';

/**
 * A list of chats after its first page was loaded again: what the page has is new, what should be on the page and is not there
 * does not match the filters any more, and the rest stays. Those that wait for the operator first, then last active first.
 * @param hasMore there are chats after the page
 */
export function withFreshPage(list: readonly Chat[], page: readonly Chat[], hasMore: boolean): Chat[] {
  const last = page.at(-1);
  if (!hasMore || !last) return [...page];
  const fresh = new Set(page.map(({ id }) => id));
  return [...page, ...list.filter((chat) => !fresh.has(chat.id) && comesAfter(chat, last))];
}

/** A list after the first page of the chats that do not wait for the operator was loaded again. */
export function withFreshOthers(list: readonly Chat[], page: readonly Chat[], hasMore: boolean): Chat[] {
  const fresh = new Set(page.map(({ id }) => id));
  const waiting = list.filter(({ id, needs }) => needs && !fresh.has(id));
  const others = list.filter(({ needs }) => !needs);
  return [...waiting, ...withFreshPage(others, page, hasMore)];
}

/** A list with a further page at its end. */
export function withNextPage(list: readonly Chat[], page: readonly Chat[]): Chat[] {
  const known = new Set(list.map(({ id }) => id));
  return [...list, ...page.filter(({ id }) => !known.has(id))];
}

/** A list in which a chat is as it is now; one that is not in the list stays out. */
export function withChat(list: readonly Chat[], chat: Chat): Chat[] {
  return list.map((each) => (each.id === chat.id ? chat : each));
}

function comesAfter(chat: Chat, other: Chat): boolean {
  if ((chat.needs === undefined) !== (other.needs === undefined)) return chat.needs === undefined;
  if (chat.activeAt !== other.activeAt) return chat.activeAt < other.activeAt;
  return BigInt(chat.id) < BigInt(other.id);
}
