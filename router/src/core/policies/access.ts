import { canonicalChannelId, writtenForms } from '../chat-id.ts';
import type { TurnReason } from '../messages/message-reason.ts';
import { type Said, say } from '../phrases.ts';
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
  const step = (outcome: string, sentence: Said) => ({ step: 'access', outcome, ...sentence });
  const writer = [canonicalChannelId(message.from), message.fromLid].filter((id) => id !== undefined);
  const addresses = writtenForms([...channelIds, ...writer]);
  if (list.some((listed) => addresses.includes(canonicalChannelId(listed) ?? ''))) {
    return { kind: 'continue', step: step('listed', say('access.listed')) };
  }
  const end = (reason: TurnReason, sentence: Said) => ({
    kind: 'end' as const,
    reason,
    step: step('stopped', sentence),
  });
  if (people === 'listed') {
    return end('access-not-listed', say('access.not-listed'));
  }
  if (access === 'approved') {
    return { kind: 'continue', step: step('approved', say('access.approved')) };
  }
  if (access === 'refused') return end('access-refused', say('access.refused'));
  const waiting = end(ACCESS_PENDING, say('access.waits'));
  if (access === 'pending') return waiting;
  return { ...waiting, asksOwner: true, ...(askText !== undefined && { say: askText }) };
}
