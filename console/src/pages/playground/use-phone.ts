import { useEffect, useState } from 'preact/hooks';
import { call, type ResponseOf } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';

type PhoneEvent = ResponseOf<'GET /api/playground/chats/{id}/events'>['data'][number];

const WAIT_MS = 20_000;
const RETRY_MS = 3_000;
/** WhatsApp's apps forget that somebody types after this time. */
const TYPING_MS = 25_000;

/** What an invented phone shows besides messages. */
export interface Phone {
  isTyping: boolean;
  /** WhatsApp ids of the messages that the account has read. */
  read: ReadonlySet<string>;
}

/** Follows what the phones of a chat show. */
export function usePhone(chatId: string): Phone {
  const [phone, setPhone] = useState<Phone>({ isTyping: false, read: new Set() });
  useEffect(() => {
    const gone = new AbortController();
    void follow(chatId, gone.signal, (events) => setPhone((before) => after(before, events)));
    return () => gone.abort();
  }, [chatId]);
  useEffect(() => {
    if (!phone.isTyping) return;
    const timer = setTimeout(() => setPhone((before) => ({ ...before, isTyping: false })), TYPING_MS);
    return () => clearTimeout(timer);
  }, [phone]);
  return phone;
}

async function follow(
  id: string,
  signal: AbortSignal,
  onEvents: (events: readonly PhoneEvent[]) => void,
): Promise<void> {
  let last: string | undefined;
  while (!signal.aborted) {
    try {
      const { data } = await call('GET /api/playground/chats/{id}/events', {
        path: { id },
        query: { waitMs: WAIT_MS, after: last },
        signal,
      });
      last = data.at(-1)?.id ?? last;
      if (!signal.aborted && data.length > 0) onEvents(data);
    } catch (error) {
      // The chat was deleted.
      if (error instanceof Problem && error.status === 404) return;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function after(before: Phone, events: readonly PhoneEvent[]): Phone {
  const read = new Set(before.read);
  let { isTyping } = before;
  for (const { kind, about, isTyping: types, at } of events) {
    if (kind === 'read' && about !== undefined) read.add(about);
    if (kind === 'message') isTyping = false;
    if (kind === 'typing') isTyping = types === true && Date.now() - Date.parse(at) < TYPING_MS;
  }
  return { isTyping, read };
}
