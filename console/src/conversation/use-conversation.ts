import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api/call.ts';
import { problemOf } from '../api/problem.ts';
import type { Chat, Draft, Message, Page } from './chat-types.ts';
import { useChanges } from './use-changes.ts';

const PAGE = 50;
/** Messages in the document; with more, the other end is left out. */
const MAX_MESSAGES = 400;

interface Conversation {
  chat?: Chat;
  messages: Map<string, Message>;
  drafts: Draft[];
  /** The cursor of the messages before; absent: there are none. */
  earlier?: string;
  /** The newest messages are not loaded. */
  isDetached: boolean;
  error?: string;
}

const EMPTY: Conversation = { messages: new Map(), drafts: [], isDetached: false };

/** One chat with its messages and drafts, kept as they are now, and the pages before on demand. */
export function useConversation(id: string) {
  const [state, setState] = useState<Conversation>(EMPTY);
  const current = useRef(id);
  current.current = id;
  const latest = useRef(state);
  latest.current = state;
  const isBusy = useRef(false);

  const pageOf = async (cursor?: string) =>
    (await call('GET /api/chats/{id}/messages', {
      path: { id },
      query: { direction: 'all', trace: 'true', limit: PAGE, cursor },
    })) as Page<Message>;

  /** Loads the chat, its drafts and its newest messages. `isNew`: without those loaded before. */
  const load = useCallback(
    async (isNew: boolean) => {
      try {
        const [{ data: chat }, page] = await Promise.all([
          call('GET /api/chats/{id}', { path: { id } }),
          pageOf(),
        ]);
        const { accountId, channelId } = chat;
        const drafts = await call('GET /api/drafts', { query: { accountId, channelId } });
        if (current.current !== id) return;
        setState((before) => {
          const keeps = !isNew && before.messages.size > 0;
          const messages = new Map(keeps ? before.messages : []);
          if (!keeps || !before.isDetached)
            for (const message of page.data) messages.set(message.id, message);
          else
            for (const message of page.data) if (messages.has(message.id)) messages.set(message.id, message);
          return {
            chat,
            messages,
            drafts: drafts.data,
            earlier: keeps ? before.earlier : page.next,
            isDetached: keeps && before.isDetached,
          };
        });
      } catch (error) {
        if (current.current === id) setState((before) => ({ ...before, error: problemOf(error).message }));
      }
    },
    [id],
  );

  useEffect(() => {
    setState(EMPTY);
    void load(true);
  }, [id]);

  const loadEarlier = useCallback(async () => {
    const { earlier } = latest.current;
    if (earlier === undefined || isBusy.current) return;
    isBusy.current = true;
    try {
      const page = await pageOf(earlier);
      if (current.current !== id) return;
      setState((before) => {
        const messages = new Map(before.messages);
        for (const message of page.data) messages.set(message.id, message);
        const ids = [...messages.keys()].sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
        const surplus = ids.slice(MAX_MESSAGES);
        for (const each of surplus) messages.delete(each);
        return {
          ...before,
          messages,
          earlier: page.next,
          isDetached: before.isDetached || surplus.length > 0,
        };
      });
    } catch (error) {
      setState((before) => ({ ...before, error: problemOf(error).message }));
    } finally {
      isBusy.current = false;
    }
  }, [id]);

  useChanges(
    (event) => event.chatId === latest.current.chat?.id,
    () => void load(false),
  );

  return { ...state, reload: () => load(false), newest: () => load(true), loadEarlier };
}
