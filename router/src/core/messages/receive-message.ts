import type { InboundMessage, Inbox } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import { applySelfChatRule, type SelfChatDeps } from './self-chat.ts';

export interface ReceiveDeps {
  inbox: Inbox;
  selfChat: SelfChatDeps;
  /** Starts the turn loop of a chat; a failure is mended by the sweep, so it is not awaited. */
  startLoop(loop: { chatId: string; epoch: number }): void;
  /** Tells the loop that is running on a chat that a message came. */
  wakeLoop(chatId: string): void;
  log: Logger;
}

/**
 * Provider → inbox: stores the message together with what starts its turn, then starts the chat's turn loop, or
 * wakes the one that runs. A message that was stored before changes nothing.
 * @throws {StorageUnavailableError} nothing was stored; the provider keeps the message and calls again
 */
export async function receiveMessage(deps: ReceiveDeps, received: InboundMessage): Promise<void> {
  const message = await applySelfChatRule(deps.selfChat, received);
  const stored = await deps.inbox.add(message);
  deps.log.debug(
    { waMessageId: message.waMessageId, outcome: stored.outcome, ignoredReason: message.ignoredReason },
    'message received',
  );
  if (stored.startLoop) deps.startLoop(stored.startLoop);
  else if (stored.outcome === 'stored') deps.wakeLoop(stored.chatId);
}
