import type { Environment } from '../models.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { channelIdsOf } from './chat-identity.ts';
import type { InboundMessage } from './inbound-message.ts';

export interface SelfChatDeps {
  routes: Pick<RouteStore, 'candidates'>;
  outbox: Pick<Outbox, 'findByWaId'>;
  environment: Environment;
}

/**
 * Applies the rule of the self-chat ("message yourself"): a message in it counts as a person's when an enabled route
 * names the chat by its channelId. The wildcard does not name it, and wa2ai's own replies never count, so a reply is
 * never answered. Otherwise it is ignored as `own-message`. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or replies cannot be read
 */
export async function applySelfChatRule(
  deps: SelfChatDeps,
  message: InboundMessage,
): Promise<InboundMessage> {
  if (!message.isSelfChat) return message;
  const isAnswered = (await isRouted(deps, message)) && !(await isOwnReply(deps, message));
  return isAnswered ? message : { ...message, ignoredReason: 'own-message' };
}

async function isRouted({ routes, environment }: SelfChatDeps, message: InboundMessage): Promise<boolean> {
  const { accountId, chat } = message;
  if (chat.kind === 'group') return false;
  const channelIds = channelIdsOf(chat);
  const candidates = await routes.candidates({ accountId, environment, channelIds });
  return candidates.some(({ enabled, channelId }) => enabled && channelIds.includes(channelId));
}

async function isOwnReply({ outbox }: SelfChatDeps, message: InboundMessage): Promise<boolean> {
  return (await outbox.findByWaId(message.accountId, message.waMessageId)) !== undefined;
}
