import type { ContextMessage } from '../models.ts';
import { nameOfPerson, OWNER_NAME } from '../person-name.ts';
import { CONTEXT_REASONS } from '../policies/group.ts';
import type { Conversation } from '../policies/settings.ts';
import { hasPauseContext, PAUSE_CONTEXT_REASONS } from '../policies/takeover.ts';
import type { ChatHistory } from '../ports/chat-history.ts';
import type { PendingTurn } from './turn.ts';

/**
 * The messages since the last answer that the agent did not get, and those that the owner wrote by hand, oldest first; then a
 * line about a view-once file of this message. Nothing is read where none can be.
 * @throws {StorageUnavailableError}
 */
export async function loadContext(
  history: Pick<ChatHistory, 'unanswered'>,
  { chatId, messageId, message, chatState }: PendingTurn,
  { group, takeover }: Pick<Conversation, 'group' | 'takeover'>,
): Promise<ContextMessage[]> {
  const isGated = message.isGroup === true && group.answer === 'mention' && group.contextMessages > 0;
  const isAfterPause = hasPauseContext(chatState) && takeover.contextMessages > 0;
  const { viewOnce, from, pushName } = message;
  const file = viewOnce ? [{ sender: from, pushName, kind: `${viewOnce}, view once`, text: '' }] : [];
  const reasons = [...(isGated ? CONTEXT_REASONS : []), ...(isAfterPause ? PAUSE_CONTEXT_REASONS : [])];
  const limit = Math.max(isGated ? group.contextMessages : 0, isAfterPause ? takeover.contextMessages : 0);
  const found = limit > 0 ? await history.unanswered(chatId, messageId, reasons, limit) : [];
  return [...found.reverse(), ...file].map(({ sender, isOwner, pushName, kind, text }: ContextLine) => ({
    by: isOwner ? 'owner' : 'person',
    name: isOwner ? OWNER_NAME : nameOfPerson(pushName, sender, message.isGroup === true),
    text: text || `[${kind}]`,
  }));
}

interface ContextLine {
  sender: string;
  isOwner?: boolean;
  pushName?: string;
  kind: string;
  text: string;
}
