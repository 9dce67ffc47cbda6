import type { ChatId } from '../chat-id.ts';
import type { ChatCheck, ChatRow, ChatStore } from '../ports/chat-store.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';

interface ResumeChatDeps {
  chatStore: Pick<ChatStore, 'resume'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve'>;
}

/**
 * Ends the pause of a chat.
 * @param answerMissed messages that got no answer because of a pause are answered now, in their order
 * @returns undefined: there is no such chat
 * @throws {StorageUnavailableError} nothing was changed; and what `check` throws
 */
export async function resumeChat(
  { chatStore, workers }: ResumeChatDeps,
  id: ChatId,
  answerMissed: boolean,
  check?: ChatCheck,
): Promise<ChatRow | undefined> {
  const missed = answerMissed ? { node: workers.nodeForNextChat() } : undefined;
  const resumed = await chatStore.resume(id, missed, check);
  if (resumed?.worker && answerMissed) workers.serve(resumed.worker, !resumed.isNewWorker);
  return resumed?.chat;
}
