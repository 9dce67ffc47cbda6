import type { ResumedChat } from '../../router/src/core/ports/chat-store.ts';
import type { ChatClaim } from '../../router/src/core/ports/inbox.ts';

const chat = { id: '7' } as ResumedChat['chat'];
const worker = { chatId: '7', node: 'n2', epoch: 1 };

/** What starts, what the store returned, the chat that the caller gets, and the workers that run then. */
export const RELEASED_CHATS: Array<
  [string, ResumedChat | undefined, ResumedChat['chat'] | undefined, unknown[]]
> = [
  ['nothing for no chat', undefined, undefined, []],
  ['no worker where nothing waits', { chat, isNewWorker: false }, chat, []],
  ['a new worker', { chat, worker, isNewWorker: true }, chat, [[worker, false]]],
  ['the worker that may have been lost', { chat, worker, isNewWorker: false }, chat, [[worker, true]]],
];

/** A store that returns the same for each call, and workers of node `n1`; `given` and `served` are their arguments. */
export function releasedChat(returned: ResumedChat | undefined) {
  const given: unknown[] = [];
  const served: unknown[] = [];
  const answer = async (...args: unknown[]) => {
    given.push(args);
    return returned;
  };
  const workers = {
    nodeForNextChat: () => 'n1',
    serve: (claim: ChatClaim, isRepeat: boolean) => void served.push([claim, isRepeat]),
  };
  return { chatStore: { resume: answer, decideAccess: answer }, workers, given, served };
}
