import { urlOf } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import type { Chat } from '../../conversation/chat-types.ts';
import { problemInWords } from '../../translation/use-translation.ts';

/** Kinds by the media types that the API takes for them; every other file is a document. */
const KINDS: Record<string, string> = { 'image/jpeg': 'image', 'image/png': 'image', 'video/mp4': 'video' };

/**
 * Sends a message that a person wrote, which pauses the agent of the chat.
 * @param key the same for a repeat, which then sends nothing
 * @throws {Problem}
 */
export async function sendByHand(chat: Chat, key: string, text: string, file?: File): Promise<void> {
  const response = await fetch(urlOf('POST /api/messages'), {
    method: 'POST',
    credentials: 'same-origin',
    // The service refuses changes with a session that do not have the header.
    headers: {
      ...{ 'idempotency-key': key, 'x-wa2ai-csrf': '1' },
      ...(!file && { 'content-type': 'application/json' }),
    },
    body: file
      ? formOf(chat, text, file)
      : JSON.stringify({ accountId: chat.accountId, channelId: chat.channelId, text, byHand: true }),
  });
  if (response.ok) return;
  const {
    code = `HTTP_${response.status}`,
    error = `The service answered ${response.status}.`,
    phrase,
  } = await response.json().catch(() => ({}));
  const { message } = problemInWords({ code, error, phrase });
  throw new Problem(response.status, code, message);
}

function formOf({ accountId, channelId }: Chat, text: string, file: File): FormData {
  const form = new FormData();
  form.append('accountId', accountId);
  form.append('channelId', channelId);
  if (text.trim() !== '') form.append('text', text);
  form.append('byHand', 'true');
  form.append(KINDS[file.type] ?? 'document', file, file.name);
  return form;
}

/** A new key. Random on pages without HTTPS too, where `crypto.randomUUID` is absent. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
