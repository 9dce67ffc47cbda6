import { chatHash } from '../chat-hash.ts';
import type { AgentResponse } from '../models.ts';
import type { ReplyShaping } from '../policies/reply.ts';
import { conversationOf } from '../policies/settings.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReplyTokenState, ReplyTokens } from '../ports/reply-tokens.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { shapeAnswer } from './shape-answer.ts';
import type { QueuedReply } from './turn.ts';

export interface AnswerLaterDeps extends ReplyShaping {
  tokens: Pick<ReplyTokens, 'redeem' | 'routeOf'>;
  routes: Pick<RouteStore, 'get'>;
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
  response: Pick<AgentResponse, 'response' | 'files' | 'fileLinks'>,
): Promise<AnswerLaterResult> {
  const routeId = await deps.tokens.routeOf(token);
  const route = routeId === undefined ? undefined : await deps.routes.get(routeId);
  const conversation = conversationOf(route, await deps.conversation());
  const shaped = await shapeAnswer(deps, { success: true, ...response }, { conversation });
  const replies = shaped.replies.map((reply) => ({ ...reply, waMessageId: deps.mintId() }));
  const redeemed = await deps.tokens.redeem(token, replies);
  if (redeemed.outcome !== 'stored') return redeemed;
  const [first] = redeemed.replies;
  const chat = first && chatHash(first.chatId);
  deps.log.info({ messageId: first?.messageId, chat, replies: replies.length }, 'late answer stored');
  for (const reply of redeemed.replies) deps.deliver(reply);
  return { outcome: 'stored', outboxIds: redeemed.replies.map(({ outboxId }) => outboxId) };
}
