import type { Session } from '../models.ts';
import { chooseSession, personState, startSession } from '../policies/session.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { RunningTurn } from './running-turn.ts';

export interface SessionDeps {
  chatStore: Pick<ChatStore, 'usePersonSession' | 'startPersonSession'>;
}

/**
 * The session of a turn. A new one, also one that the settings ask for, is stored: with the chat when the turn ends, that of a
 * person in all chats at once. A locked chat has a separate session.
 * @param isNew the person asked for a new one
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function sessionOfTurn(
  { chatStore }: SessionDeps,
  running: RunningTurn,
  isNew = false,
): Promise<Session> {
  const { turn, conversation, nowMs } = running.view;
  const choose = isNew ? startSession : chooseSession;
  const { accountId, sender, chatId, messageId } = turn;
  const { session: settings } = conversation;
  const isOfPerson = settings.scope === 'person';
  const found = isOfPerson ? await chatStore.usePersonSession(accountId, sender, chatId) : undefined;
  if (!found) {
    // What a person says in a locked chat must not appear in other chats.
    const own = isOfPerson ? { ...settings, scope: 'person-in-chat' as const } : settings;
    const { session, patch } = choose(turn, running.state, own, nowMs);
    running.patch(patch);
    return session;
  }
  const { chatIds, usedMs, ...used } = found;
  const person = { ...turn, repliedAtMs: usedMs };
  const { session, patch } = choose(person, personState(used), settings, nowMs);
  if (!patch) return { ...session, chatIds };
  const begun = await chatStore.startPersonSession(accountId, sender, messageId);
  const next = chooseSession({ ...turn, repliedAtMs: undefined }, personState(begun), settings, nowMs);
  return { ...next.session, chatIds };
}
