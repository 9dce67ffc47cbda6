import { chatHash } from '../chat-hash.ts';
import { phoneJid } from '../chat-id.ts';
import type { TurnReason } from '../messages/message-reason.ts';
import { ACCESS_PENDING } from '../policies/access.ts';
import type { Decision, TurnView } from '../policies/policy.ts';
import { languageOf, textOf } from '../policies/texts.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { PendingTurn } from './turn.ts';

export interface AskOwnerDeps {
  chatStore: Pick<ChatStore, 'askAccess' | 'get'>;
  /** Sends a text to a chat outside of a turn; once for each key. */
  sendNotice?(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  log: Logger;
}

/** How a turn ends whose message waits for the owner; `approved`: the owner approved the chat meanwhile. */
export type WaitsForOwner = { kind: 'approved' } | { kind: 'waits'; reason: TurnReason; say?: string };

/** The owner reads on a phone what the message is about. */
const MAX_TEXT_CHARS = 200;

/** In place of what a locked chat hides. */
export const HIDDEN = '🔒';

/**
 * Asks the owner, in the account's "message yourself" chat, whether a chat gets answers: once, also when a crash interrupts it.
 * @param isRepeat a crash may have interrupted the question
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function askOwner(
  { chatStore, sendNotice, log }: AskOwnerDeps,
  view: TurnView,
  { asksOwner, say }: Extract<Decision, { kind: 'end' }>,
  isRepeat: boolean,
): Promise<WaitsForOwner> {
  const { turn } = view;
  if (!asksOwner && !isRepeat) return { kind: 'waits', reason: ACCESS_PENDING };
  const asked = await chatStore.askAccess(turn.chatId);
  if (asked?.access === 'approved') return { kind: 'approved' };
  if (asked?.access === 'refused') return { kind: 'waits', reason: 'access-refused' };
  const chat = chatHash(turn.chatId);
  if (asked?.access === 'over-limit') {
    log.warn({ chat }, 'owner not asked about a chat: too many questions in an hour');
    return { kind: 'waits', reason: 'access-over-limit' };
  }
  if (asked?.ownerPhone !== undefined && sendNotice) {
    await sendNotice({
      accountId: turn.accountId,
      to: phoneJid(asked.ownerPhone),
      text: questionTo(asked.ownerPhone, view, (await chatStore.get(turn.chatId))?.isLocked),
      idempotencyKey: `access-${turn.chatId}-${asked.askedAtMs}`,
    });
    log.info({ chat }, 'owner asked about a chat');
  }
  return { kind: 'waits', reason: ACCESS_PENDING, ...(say !== undefined && { say }) };
}

function questionTo(ownerPhone: string, { turn }: TurnView, isLocked?: boolean): string {
  const which = turn.message.isGroup ? 'ownerAskGroup' : 'ownerAsk';
  return textOf(which, languageOf('', ownerPhone), { ...aboutMessage(turn, isLocked), id: turn.chatId });
}

/** What the owner reads about a message. The "message yourself" chat must not show what a locked chat does not show. */
export function aboutMessage(
  {
    chatId,
    message: { pushName, text, kind = 'other' },
    channelIds: [channelId = ''],
  }: Pick<PendingTurn, 'chatId' | 'message' | 'channelIds'>,
  isLocked = false,
): { name: string; text: string; address: string } {
  if (isLocked) return { name: HIDDEN, text: HIDDEN, address: `chat ${chatId}` };
  return {
    name: pushName?.replace(/\s+/g, ' ').trim() || '?',
    text: text.replace(/\s+/g, ' ').slice(0, MAX_TEXT_CHARS) || `[${kind}]`,
    address: channelId.includes('@') ? channelId : `+${channelId}`,
  };
}
