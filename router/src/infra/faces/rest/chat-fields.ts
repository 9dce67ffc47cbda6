import { chatHash } from '../../../core/chat-hash.ts';
import { jidOfChannelId } from '../../../core/chat-id.ts';

/** Fields of a log line about a chat: its account and, except for `*`, its hash. */
export function chatFields(accountId: string, channelId: string): { accountId: string; chat?: string } {
  const jid = jidOfChannelId(channelId);
  return { accountId, ...(jid !== undefined && { chat: chatHash(accountId, jid) }) };
}
