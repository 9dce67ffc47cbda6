import { chatHash } from '../chat-hash.ts';
import type { QueuedReply } from '../turns/turn.ts';

/**
 * The fields of every log line about a reply. `messageId` is the message that it answers; for a message of an admin it is
 * the row itself, under whose id the API shows it.
 */
export function replyFields({ outboxId, messageId = outboxId, chatId, message }: QueuedReply) {
  return { outboxId, messageId, waMessageId: message.waMessageId, chat: chatHash(chatId) };
}
