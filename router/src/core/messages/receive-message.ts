import { chatHash, jidHash } from '../chat-hash.ts';
import { commandIn } from '../policies/commands.ts';
import type { Inbox } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';
import { replyToOf } from './chat-identity.ts';
import type { InboundMessage } from './inbound-message.ts';

export interface ReceiveDeps {
  inbox: Pick<Inbox, 'add'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve' | 'stopTurn'>;
  /** Called once for each message that was stored, for metrics. */
  observeReceived?(accountId: string): void;
  log: Logger;
}

/**
 * Provider → inbox → chat worker: stores a message and, in the same transaction, claims its chat when no worker has it;
 * then starts the chat's worker unless it runs, which is not awaited. Idempotent: a message that is stored already changes
 * nothing.
 * @throws {StorageUnavailableError} nothing was stored; call again
 */
export async function receiveMessage(
  { inbox, workers, observeReceived, log }: ReceiveDeps,
  message: InboundMessage,
): Promise<void> {
  const stored = await inbox.add(message, workers.nodeForNextChat());
  const { messageId, chatId, outcome, worker, isNewWorker, turn, changed } = stored;
  const { accountId, waMessageId, ignoredReason } = message;
  const hashes = { chat: chatHash(chatId), jidHash: jidHash(accountId, replyToOf(message)) };
  log.info({ messageId, waMessageId, ...hashes, outcome, ignoredReason }, 'message received');
  if (outcome === 'stored') observeReceived?.(accountId);
  if (!worker) return;
  const isStop = ignoredReason === undefined && commandIn(message.text) === 'stop';
  if (isStop && !isNewWorker && (message.chat.kind === 'person' || message.toUs)) workers.stopTurn(worker);
  workers.serve(worker, !isNewWorker, { turn, changed });
}
