import { canonicalChannelId, writtenForms } from '../chat-id.ts';
import type { TurnReason } from '../messages/message-reason.ts';
import type { PendingTurn } from '../turns/turn.ts';
import { type ChatPolicy, CONTINUE, type Decision } from './policy.ts';
import type { Conversation } from './settings.ts';

/** The reason of messages that wait for the owner. */
export const ACCESS_PENDING = 'access-pending';

/** Answers the people whom the settings or the owner allow (reasons `access-…`). */
export function accessPolicy(): ChatPolicy {
  return { name: 'access', before: async ({ turn, conversation: { access } }) => decideAccess(turn, access) };
}

/** Whether the person, or the group, gets answers. Pure. */
export function decideAccess(
  { message, channelIds, access }: Pick<PendingTurn, 'message' | 'channelIds' | 'access'>,
  { people, list, askText }: Conversation['access'],
): Decision {
  if (people === 'everyone') return CONTINUE;
  const step = (outcome: string, sentence: string) => ({ step: 'access', outcome, sentence });
  const writer = [canonicalChannelId(message.from), message.fromLid].filter((id) => id !== undefined);
  const addresses = writtenForms([...channelIds, ...writer]);
  if (list.some((listed) => addresses.includes(canonicalChannelId(listed) ?? ''))) {
    return { kind: 'continue', step: step('listed', 'The list of access.list has the person or the group.') };
  }
  const end = (reason: TurnReason, sentence: string) => ({
    kind: 'end' as const,
    reason,
    step: step('stopped', sentence),
  });
  if (people === 'listed') {
    return end('access-not-listed', 'The list of access.list has neither the person nor the group.');
  }
  if (access === 'approved') {
    return { kind: 'continue', step: step('approved', 'The owner approved the chat.') };
  }
  if (access === 'refused') return end('access-refused', 'The owner refused the chat.');
  const waiting = end(ACCESS_PENDING, 'The message waits until the owner approves the chat.');
  if (access === 'pending') return waiting;
  return { ...waiting, asksOwner: true, ...(askText !== undefined && { say: askText }) };
}
