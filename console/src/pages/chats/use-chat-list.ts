import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Args, call } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import type { Chat } from '../../conversation/chat-types.ts';
import { useChanges } from '../../conversation/use-changes.ts';
import { withChat, withFreshOthers, withFreshPage, withNextPage } from './chat-list-state.ts';

/** A filter of the list, as the API takes it. */
export type ChatFilter = NonNullable<Args<'GET /api/chats'>['query']>;

const PAGE = 50;
/** Chats beyond the first page that are loaded one by one after a change. */
const SINGLE_CHATS = 5;

/** What changes a row of the list. */
const TYPES = new Set(['message', 'turn', 'reply', 'delivery', 'chat', 'dead-letter', 'draft']);

/** What belongs to one filter: an answer that comes after another filter was chosen is dropped. */
interface Loading {
  next?: string;
  isBusy: boolean;
  /** Chats of which events came. */
  changed: Set<string>;
}

/** The chats of a filter, loaded page by page, and kept as they are now. */
export function useChatList(filter: ChatFilter) {
  const key = JSON.stringify(filter);
  const [chats, setChats] = useState<Chat[]>([]);
  const [error, setError] = useState<string>();
  const [isLoading, setIsLoading] = useState(true);
  const current = useRef<Loading>({ isBusy: false, changed: new Set() });
  const shown = useRef<Chat[]>([]);
  shown.current = chats;

  const pageOf = (limit: number, cursor?: string, more?: ChatFilter) =>
    call('GET /api/chats', { query: { ...filter, ...more, order: 'needs', limit, cursor } });

  useEffect(() => {
    const own: Loading = { isBusy: true, changed: new Set() };
    current.current = own;
    setIsLoading(true);
    setError(undefined);
    const load = async () => {
      try {
        let page = await pageOf(PAGE);
        // A search reads a part of the chats at a time, and may find nothing in one.
        while (page.data.length === 0 && page.next !== undefined && current.current === own) {
          page = await pageOf(PAGE, page.next);
        }
        if (current.current !== own) return;
        own.next = page.next;
        setChats(page.data);
      } catch (cause) {
        if (current.current === own) setError(problemOf(cause).message);
      } finally {
        own.isBusy = false;
        if (current.current === own) setIsLoading(false);
      }
    };
    void load();
  }, [key]);

  const more = useCallback(async () => {
    const own = current.current;
    if (own.isBusy || own.next === undefined) return;
    own.isBusy = true;
    try {
      const page = await pageOf(PAGE * 2, own.next);
      if (current.current !== own) return;
      own.next = page.next;
      setChats((list) => withNextPage(list, page.data));
    } catch (cause) {
      if (current.current === own) setError(problemOf(cause).message);
    } finally {
      own.isBusy = false;
    }
  }, [key]);

  const refresh = async () => {
    const own = current.current;
    const changed = [...own.changed];
    own.changed.clear();
    try {
      const page = await pageOf(PAGE);
      // When those that wait fill the page, the others have their own first page behind them.
      const isFull = page.data.at(-1)?.needs !== undefined && !shown.current.every(({ needs }) => needs);
      const others = isFull ? await pageOf(PAGE, undefined, { needsYou: 'false' }) : undefined;
      if (current.current !== own) return;
      setChats((list) => {
        const chats = withFreshPage(list, page.data, page.next !== undefined);
        return others ? withFreshOthers(chats, others.data, others.next !== undefined) : chats;
      });
      const fresh = new Set([...page.data, ...(others?.data ?? [])].map(({ id }) => id));
      const single = changed.filter((id) => !fresh.has(id) && shown.current.some((chat) => chat.id === id));
      for (const id of single.slice(0, SINGLE_CHATS)) {
        const { data } = await call('GET /api/chats/{id}', { path: { id } });
        if (current.current === own) setChats((list) => withChat(list, data));
      }
    } catch {
      // The next change, or the next connection, loads again.
    }
  };

  useChanges(({ type, chatId }) => {
    if (!TYPES.has(type)) return false;
    if (chatId !== undefined) current.current.changed.add(chatId);
    return true;
  }, refresh);

  return { chats, isLoading, error, more };
}
