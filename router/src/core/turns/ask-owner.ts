import { chatHash, phoneJid } from '../chat-id.ts';
import type { Logger } from '../logger.ts';
import type { TurnReason } from '../messages/inbound-message.ts';
import type { AgentResponse } from '../models.ts';
import { ACCESS_PENDING } from '../policies/access.ts';
import type { Decision, TurnView } from '../policies/policy.ts';
import type { ReplyShaping } from '../policies/reply.ts';
import { chatSettingsOf } from '../policies/settings.ts';
import { languageOf, textOf } from '../policies/texts.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { ReplyTokenState, ReplyTokens } from '../ports/pending-answers.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { shapeAnswer } from './shape-answer.ts';
import type { PendingTurn, QueuedReply } from './turn.ts';

export interface AskOwnerDeps {
  chatStore: Pick<ChatStore, 'askAccess' | 'get'>;
  /** Sends a text to a chat outside of a turn; once for each key. */
  sendNotice?(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  log: Logger;
}

/** How a turn ends whose message waits for the owner; `approved`: the owner approved the chat meanwhile. */
type WaitsForOwner = { kind: 'approved' } | { kind: 'waits'; reason: TurnReason; say?: string };

/** The owner reads on a phone what the message is about. */
const MAX_TEXT_CHARS = 200;

/** In place of what a locked chat hides. */
export const HIDDEN = '🔒';

/**
 * Asks the owner, in the account's "message yourself" chat, whether a chat gets answers: once, also when a crash interrupts it.
 * @param isRepeat a crash may have interrupted the question
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function askOwner(
  { chatStore, sendNotice, log }: AskOwnerDeps,
  view: TurnView,
  { asksOwner, say }: Extract<Decision, { kind: 'end' }>,
  isRepeat: boolean,
): Promise<WaitsForOwner> {
  const { turn } = view;
  if (!asksOwner && !isRepeat) return { kind: 'waits', reason: ACCESS_PENDING };
  const asked = await chatStore.askAccess(turn.chatId);
  if (asked?.access === 'approved') return { kind: 'approved' };
  if (asked?.access === 'refused') return { kind: 'waits', reason: 'access-refused' };
  const chat = chatHash(turn.chatId);
  if (asked?.access === 'over-limit') {
    log.warn({ chat }, 'owner not asked about a chat: too many questions in an hour');
    return { kind: 'waits', reason: 'access-over-limit' };
  }
  if (asked?.ownerPhone !== undefined && sendNotice) {
    await sendNotice({
      accountId: turn.accountId,
      to: phoneJid(asked.ownerPhone),
      text: questionTo(asked.ownerPhone, view, (await chatStore.get(turn.chatId))?.isLocked),
      idempotencyKey: `access-${turn.chatId}-${asked.askedAtMs}`,
    });
    log.info({ chat }, 'owner asked about a chat');
  }
  return { kind: 'waits', reason: ACCESS_PENDING, ...(say !== undefined && { say }) };
}

function questionTo(ownerPhone: string, { turn, conversation }: TurnView, isLocked?: boolean): string {
  const which = turn.message.isGroup ? 'ownerAskGroup' : 'ownerAsk';
  const about = { ...aboutMessage(turn, isLocked), id: turn.chatId };
  return textOf(which, languageOf('', ownerPhone), conversation.texts, about);
}

/** What the owner reads about a message. The "message yourself" chat must not show what a locked chat does not show. */
export function aboutMessage(
  {
    chatId,
    message: { pushName, text, kind = 'other' },
    channelIds: [channelId = ''],
  }: Pick<PendingTurn, 'chatId' | 'message' | 'channelIds'>,
  isLocked = false,
): { name: string; text: string; address: string } {
  if (isLocked) return { name: HIDDEN, text: HIDDEN, address: `chat ${chatId}` };
  return {
    name: pushName?.replace(/\s+/g, ' ').trim() || '?',
    text: text.replace(/\s+/g, ' ').slice(0, MAX_TEXT_CHARS) || `[${kind}]`,
    address: channelId.includes('@') ? channelId : `+${channelId}`,
  };
}

interface AnswerLaterDeps extends ReplyShaping {
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
  const conversation = chatSettingsOf(route, await deps.conversation());
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
