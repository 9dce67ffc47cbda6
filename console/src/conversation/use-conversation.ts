import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { problemOf } from '../api/problem.ts';
import type { Chat, Draft, Message, Page } from './chat-types.ts';
import { useChanges } from './use-changes.ts';

const PAGE = 50;
/** Earlier messages that are loaded at once. */
const EARLIER_PAGE = 200;

interface Conversation {
  chat?: Chat;
  messages: Map<string, Message>;
  drafts: Draft[];
  /** The cursor of the messages before; absent: there are none. */
  earlier?: string;
  error?: string;
}

const EMPTY: Conversation = { messages: new Map(), drafts: [] };

/** One chat with its messages and drafts, kept as they are now, and the pages before on demand. */
export function useConversation(id: string) {
  const [state, setState] = useState<Conversation>(EMPTY);
  const current = useRef(id);
  current.current = id;
  const latest = useRef(state);
  latest.current = state;
  const isBusy = useRef(false);

  const pageOf = async (limit: number, cursor?: string) =>
    (await call('GET /api/chats/{id}/messages', {
      path: { id },
      query: { direction: 'all', trace: 'true', limit, cursor },
    })) as Page<Message>;

  /** Loads the chat, its drafts and its newest messages. */
  const load = useCallback(async () => {
    try {
      const [{ data: chat }, page] = await Promise.all([
        call('GET /api/chats/{id}', { path: { id } }),
        pageOf(PAGE),
      ]);
      const { accountId, channelId } = chat;
      const drafts = await call('GET /api/drafts', { query: { accountId, channelId } });
      if (current.current !== id) return;
      setState((before) => {
        // More may have come than a page: then those loaded before have a gap behind them.
        const keeps = page.data.some((message) => before.messages.has(message.id));
        const messages = new Map(keeps ? before.messages : []);
        for (const message of page.data) messages.set(message.id, message);
        return { chat, messages, drafts: drafts.data, earlier: keeps ? before.earlier : page.next };
      });
    } catch (error) {
      if (current.current === id) setState((before) => ({ ...before, error: problemOf(error).message }));
    }
  }, [id]);

  useEffect(() => {
    setState(EMPTY);
    void load();
  }, [id]);

  const loadEarlier = useCallback(async () => {
    const { earlier } = latest.current;
    if (earlier === undefined || isBusy.current) return;
    isBusy.current = true;
    try {
      const page = await pageOf(EARLIER_PAGE, earlier);
      if (current.current !== id) return;
      setState((before) => {
        // Those before which these come may be gone meanwhile, because of a gap.
        if (before.earlier !== earlier) return before;
        const messages = new Map(before.messages);
        for (const message of page.data) messages.set(message.id, message);
        return { ...before, messages, earlier: page.next };
      });
    } catch (error) {
      setState((before) => ({ ...before, error: problemOf(error).message }));
    } finally {
      isBusy.current = false;
    }
  }, [id]);

  useChanges((event) => event.chatId === latest.current.chat?.id, load);

  return { ...state, reload: load, loadEarlier };
}
