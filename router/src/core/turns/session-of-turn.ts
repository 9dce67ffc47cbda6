import type { Session } from '../models.ts';
import { chooseSession, personState, startSession } from '../policies/session.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { TurnTalk } from './turn-talk.ts';

export interface SessionDeps {
  chatStore: Pick<ChatStore, 'usePersonSession' | 'startPersonSession'>;
}

/**
 * The session of a turn. A new one, also one that the settings ask for, is stored: with the chat when the turn ends, that of a
 * person in all chats at once.
 * @param isNew the person asked for a new one
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function sessionOfTurn(
  { chatStore }: SessionDeps,
  talk: TurnTalk,
  isNew = false,
): Promise<Session> {
  const { turn, conversation, nowMs } = talk.view;
  const settings = conversation.session;
  const choose = isNew ? startSession : chooseSession;
  if (settings.scope !== 'person') {
    const { session, patch } = choose(turn, talk.state, settings, nowMs);
    talk.patch(patch);
    return session;
  }
  const { accountId, sender, chatId, messageId } = turn;
  const { chatIds, usedMs, ...used } = await chatStore.usePersonSession(accountId, sender, chatId);
  const person = { ...turn, repliedAtMs: usedMs };
  const { session, patch } = choose(person, personState(used), settings, nowMs);
  if (!patch) return { ...session, chatIds };
  const begun = await chatStore.startPersonSession(accountId, sender, messageId);
  const next = chooseSession({ ...turn, repliedAtMs: undefined }, personState(begun), settings, nowMs);
  return { ...next.session, chatIds };
}
