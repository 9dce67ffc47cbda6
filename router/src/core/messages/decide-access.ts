import type { ChatId } from '../chat-id.ts';
import type { ChatCheck, ChatRow, ChatStore } from '../ports/chat-store.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';

export interface DecideAccessDeps {
  chatStore: Pick<ChatStore, 'decideAccess'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve'>;
}

/**
 * Stores the owner's decision about a chat; after an approval its waiting messages are answered, in their order.
 * @returns undefined: there is no such chat
 * @throws {StorageUnavailableError} nothing was changed; and what `check` throws
 */
export async function decideAccess(
  { chatStore, workers }: DecideAccessDeps,
  id: ChatId,
  access: 'approved' | 'refused',
  check?: ChatCheck,
): Promise<ChatRow | undefined> {
  const decided = await chatStore.decideAccess(id, access, workers.nodeForNextChat(), check);
  if (decided?.worker) workers.serve(decided.worker, !decided.isNewWorker);
  return decided?.chat;
}
