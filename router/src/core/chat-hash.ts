import type { ChatId } from './ids.ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Names a stored chat in log lines: eight hexadecimal digits, the same for all its messages, turns and replies, whichever
 * address (number or LID) they have.
 */
export function chatHash(chatId: ChatId): string {
  return fnv1a(`chat ${chatId}`);
}

/**
 * Names the address of a chat in log lines, without showing the number, before its message is stored. The line
 * `message received` has it beside the chat.
 * @param jid without a device
 */
export function jidHash(accountId: string, jid: string): string {
  return fnv1a(`${accountId} ${jid}`);
}

/** Eight hexadecimal digits that differ for most other texts: FNV-1a, 32 bits. */
export function fnv1a(text: string): string {
  let hash = FNV_OFFSET;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), FNV_PRIME) >>> 0;
  return hash.toString(16).padStart(8, '0');
}
