import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import { Button } from '../../components/button.tsx';
import { useWriter } from '../../conversation/bubble-view.tsx';
import type { Chat, Message, Page } from '../../conversation/chat-types.ts';
import { type Bubble, bubblesOf } from '../../conversation/conversation.ts';
import { kindKey, useText as useShared } from '../../conversation/texts.ts';
import { useTimes } from '../../conversation/times.ts';
import { plainOf } from '../../conversation/whatsapp-marks.ts';
import { nameOf } from './chat-list.tsx';
import { useText } from './texts.ts';

/** A search begins when the person has not typed for so long. */
const TYPING_MS = 250;
/** What is shown of a message: before what was searched, and in all. */
const BEFORE_CHARS = 40;
const SHOWN_CHARS = 160;

interface Found {
  /** What was searched. */
  text: string;
  messages: Message[];
  next?: string;
}

/** Finds the messages of a chat that have a text, newest first. @param props.onOpen a message is to be shown in the conversation */
export function FindMessages({ chat, onOpen }: { chat: Chat; onOpen(id: string): void }) {
  const t = useText();
  const [typed, setTyped] = useState('');
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  /** Of the text that is searched now. */
  const current = useRef(new AbortController());
  const bubbles = useMemo(
    () => (found ? bubblesOf(found.messages, chat.isGroup).reverse() : []),
    [found, chat.isGroup],
  );
  useEffect(() => field.current?.focus(), []);

  const search = async (text: string, before?: Found) => {
    const { signal } = current.current;
    const pageOf = async (cursor?: string) =>
      (await call('GET /api/chats/{id}/messages', {
        path: { id: chat.id },
        query: { text, cursor },
        signal,
      })) as Page<Message>;
    setError(undefined);
    try {
      let page = await pageOf(before?.next);
      // A search reads a part of the messages at a time, and may find nothing in one.
      while (page.data.length === 0 && page.next !== undefined) page = await pageOf(page.next);
      if (signal.aborted) return;
      const messages = [...(before?.messages ?? []), ...page.data];
      setFound({ text, messages, ...(page.next !== undefined && { next: page.next }) });
    } catch (cause) {
      if (!signal.aborted) setError(problemOf(cause).message);
    }
  };

  useEffect(() => {
    current.current = new AbortController();
    const { current: own } = current;
    const text = typed.trim();
    if (text === '') setFound(undefined);
    const timer = text === '' ? undefined : setTimeout(() => void search(text), TYPING_MS);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [typed]);

  return (
    <>
      <input
        ref={field}
        type="search"
        maxLength={200}
        aria-label={t('find')}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <p class="hint" role="status">
        {error ?? (found && bubbles.length === 0 && t('noneFound'))}
      </p>
      <ul class="found">
        {bubbles.map((bubble) => (
          <li key={bubble.id}>
            <Result bubble={bubble} searched={found?.text ?? ''} chat={chat} onOpen={onOpen} />
          </li>
        ))}
      </ul>
      {found?.next !== undefined && (
        <Button onClick={() => void search(found.text, found)}>{t('moreFound')}</Button>
      )}
    </>
  );
}

function Result(props: { bubble: Bubble; searched: string; chat: Chat; onOpen(id: string): void }) {
  const { bubble, searched, chat, onOpen } = props;
  const shared = useShared();
  const writer = useWriter();
  const { full } = useTimes();
  const { id, at, content, text } = bubble;
  const [before, match, after] = around(plainOf(text) || shared(kindKey(content)), searched);
  return (
    <button type="button" onClick={() => onOpen(id)}>
      <span class="hint">
        {writer(bubble) ?? nameOf(chat)} · <time dateTime={at}>{full(at)}</time>
      </span>
      <span>
        {before}
        <mark>{match}</mark>
        {after}
      </span>
    </button>
  );
}

/** The part of a text around what was searched in it. */
function around(text: string, searched: string): [before: string, match: string, after: string] {
  const at = Math.max(0, text.toLowerCase().indexOf(searched.toLowerCase()));
  const begin = at > BEFORE_CHARS ? at - BEFORE_CHARS : 0;
  const end = begin + SHOWN_CHARS;
  return [
    `${begin > 0 ? '…' : ''}${text.slice(begin, at)}`,
    text.slice(at, at + searched.length),
    `${text.slice(at + searched.length, end)}${end < text.length ? '…' : ''}`,
  ];
}
