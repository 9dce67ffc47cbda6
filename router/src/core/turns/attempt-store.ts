import type { AttemptStore } from '../agent-client.ts';
import { sessionOf } from '../chat-id.ts';
import type { Route } from '../models.ts';
import type { RemoteTasks } from '../tasks.ts';
import type { PendingTurn } from './turn.ts';

/**
 * What an agent's client may store and read for one message at one route.
 * @param onTask called before the id of a task is stored
 */
export function attemptStore(
  remoteTasks: RemoteTasks,
  { id: routeId }: Pick<Route, 'id'>,
  { messageId, accountId, message }: Pick<PendingTurn, 'messageId' | 'accountId' | 'message'>,
  onTask: () => void = () => undefined,
): AttemptStore {
  const owner = { messageId, routeId, accountId };
  const key = { accountId, routeId, sessionId: sessionOf(message).sessionId };
  return {
    tasks: () => remoteTasks.ofMessage(owner),
    addTask: (remoteId) => {
      onTask();
      return remoteTasks.add(owner, remoteId);
    },
    chatTasks: () => remoteTasks.ofChat(owner),
    knownTasks: (remoteIds) => remoteTasks.known(routeId, remoteIds),
    session: () => remoteTasks.session(key),
    saveSession: (session) => remoteTasks.saveSession(key, session),
  };
}
