import { allowedChats, type Caller, mayDo } from '../access/caller.ts';
import type { Scope } from '../access/scopes.ts';
import type { LiveEvent, LiveEventType } from './live-event.ts';

/** What a key needs for events of a type; undefined: nothing. */
const SCOPE_OF: Record<LiveEventType, Scope | undefined> = {
  ready: undefined,
  reset: undefined,
  message: 'messages:read',
  turn: 'messages:read',
  reply: 'messages:read',
  delivery: 'messages:read',
  chat: 'messages:read',
  'dead-letter': 'messages:read',
  draft: 'messages:read',
  account: 'accounts:read',
  route: 'routes:read',
  agent: 'agents:manage',
  webhook: 'webhooks:manage',
  key: 'admin',
  setting: 'admin',
  // Of a chat: messages:read.
  task: 'admin',
};

/**
 * Whether the caller gets an event; `if-its-chat`: only if it may use the chat of the event. A key that is restricted to some
 * chats gets events of messages only if they name their chat.
 */
export function maySee(caller: Caller, event: Pick<LiveEvent, 'type' | 'chatId'>): boolean | 'if-its-chat' {
  const isOfChat = event.chatId !== undefined;
  const scope = event.type === 'task' && isOfChat ? 'messages:read' : SCOPE_OF[event.type];
  if (scope === undefined) return true;
  if (!mayDo(caller, scope)) return false;
  if (allowedChats(caller) === undefined) return true;
  if (isOfChat) return 'if-its-chat';
  return scope !== 'messages:read';
}
