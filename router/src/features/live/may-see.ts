import { type Admission, RESTRICTIONS, refusalOf } from '../../core/access/admission.ts';
import { allowedAccounts, allowedChats, type Caller, mayUseAccount } from '../../core/access/caller.ts';
import type { LiveEvent, LiveEventType } from '../../core/live/live-event.ts';

const OF_STREAM: Admission = { scopes: 'public' };
const OF_MESSAGES: Admission = { scopes: ['messages:read'], honours: RESTRICTIONS };
const OF_ADMINS: Admission = { scopes: ['admin'], honours: [] };

/** Who gets events of a type: who may read what they are about. */
const ADMISSION_OF: Record<LiveEventType, Admission> = {
  ready: OF_STREAM,
  reset: OF_STREAM,
  message: OF_MESSAGES,
  turn: OF_MESSAGES,
  reply: OF_MESSAGES,
  delivery: OF_MESSAGES,
  chat: OF_MESSAGES,
  'dead-letter': OF_MESSAGES,
  draft: OF_MESSAGES,
  account: { scopes: ['accounts:read'], honours: RESTRICTIONS },
  // Of the whole table.
  route: { scopes: ['routes:read'], honours: [] },
  agent: { scopes: ['agents:manage'], honours: [] },
  webhook: { scopes: ['webhooks:manage'], honours: [] },
  key: OF_ADMINS,
  setting: OF_ADMINS,
  // Of a chat: as messages.
  task: OF_ADMINS,
};

/**
 * Whether the caller gets an event; `if-its-chat`: only if it may use the chat of the event. A key that is restricted to some
 * chats or accounts gets events of messages only if they name their chat or account.
 */
export function maySee(
  caller: Caller,
  event: Pick<LiveEvent, 'type' | 'chatId' | 'accountId'>,
): boolean | 'if-its-chat' {
  const { type, chatId, accountId } = event;
  const admission = type === 'task' && chatId !== undefined ? OF_MESSAGES : ADMISSION_OF[type];
  if (admission === OF_STREAM) return true;
  if (refusalOf(caller, admission)) return false;
  if (accountId !== undefined && !mayUseAccount(caller, accountId)) return false;
  const hasAccounts = allowedAccounts(caller) !== undefined;
  const isOfMessages = admission === OF_MESSAGES;
  if (isOfMessages && allowedChats(caller)) return chatId === undefined ? false : 'if-its-chat';
  if (hasAccounts && accountId === undefined) return isOfMessages && chatId !== undefined && 'if-its-chat';
  return true;
}
