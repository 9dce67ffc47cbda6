import { chatHash } from '../chat-hash.ts';
import type { AgentResponse } from '../models.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReplyTokenState, ReplyTokens } from '../ports/reply-tokens.ts';
import { repliesOf } from './replies-of.ts';
import type { QueuedReply } from './turn.ts';

export interface AnswerLaterDeps {
  tokens: Pick<ReplyTokens, 'redeem'>;
  mintId(): string;
  deliver(reply: QueuedReply): void;
  log: Logger;
}

/** The end of `answerLater`; `outboxIds` are the stored replies, in the order in which they are sent. */
export type AnswerLaterResult =
  | { outcome: 'stored'; outboxIds: string[] }
  | { outcome: Exclude<ReplyTokenState, 'valid'> };

/**
 * Stores an agent's late answer to a message, once, and starts its delivery.
 * @throws {StorageUnavailableError} nothing was stored; safe to retry
 */
export async function answerLater(
  deps: AnswerLaterDeps,
  token: string,
  response: Pick<AgentResponse, 'response' | 'files'>,
): Promise<AnswerLaterResult> {
  const replies = repliesOf({ success: true, ...response }).map((reply) => ({
    ...reply,
    waMessageId: deps.mintId(),
  }));
  const answer = await deps.tokens.redeem(token, replies);
  if (answer.outcome !== 'stored') return answer;
  const [first] = answer.replies;
  const chat = first && chatHash(first.chatId);
  deps.log.info({ messageId: first?.messageId, chat, replies: replies.length }, 'late answer stored');
  for (const reply of answer.replies) deps.deliver(reply);
  return { outcome: 'stored', outboxIds: answer.replies.map(({ outboxId }) => outboxId) };
}
