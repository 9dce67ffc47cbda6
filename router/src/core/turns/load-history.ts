import type { ChatHistory, PastTurn } from '../ports/message-log.ts';
import type { PendingTurn } from './turn.ts';

/** How much of a conversation an agent gets. */
export interface HistoryLimits {
  turns: number;
  /** Of all texts together. */
  maxChars: number;
}

/**
 * The last turns of the session before this one, oldest first: as many of the newest as fit the limits.
 * @throws {StorageUnavailableError}
 */
export async function loadHistory(
  history: Pick<ChatHistory, 'pastTurns'>,
  { chatId, messageId, message, sender }: Pick<PendingTurn, 'chatId' | 'messageId' | 'message' | 'sender'>,
  { turns, maxChars }: HistoryLimits,
): Promise<PastTurn[]> {
  const { startMs, chatIds } = message.session ?? {};
  const newestFirst = await history.pastTurns(
    chatId,
    messageId,
    turns,
    startMs,
    chatIds && { sender, chatIds },
  );
  let chars = 0;
  const tooLong = newestFirst.findIndex(({ text, replies }) => {
    chars += replies.reduce((sum, reply) => sum + reply.text.length, text.length);
    return chars > maxChars;
  });
  return newestFirst.slice(0, tooLong < 0 ? undefined : tooLong).reverse();
}
