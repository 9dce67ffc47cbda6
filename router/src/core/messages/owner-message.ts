import { ownerEffectOf } from '../policies/takeover.ts';
import { policyOfChat } from '../routing/policy-of-chat.ts';
import type { RouteDeps } from '../routing/route-message.ts';
import { messageToRoute } from '../routing/when-facts.ts';
import type { InboundMessage } from './inbound-message.ts';

/**
 * Applies the rule of takeovers: what the owner writes by hand in a chat that has a route pauses the chat (`takeover`), and
 * `#pause` and `#resume` are commands. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or settings cannot be read
 */
export async function applyOwnerRule(deps: RouteDeps, message: InboundMessage): Promise<InboundMessage> {
  if (!message.isFromOwner) return message;
  const { text } = message;
  const { reason, settings } = await policyOfChat(deps, messageToRoute(message));
  // Nobody but the owner answers here.
  if (reason === 'no-route' || reason === 'disabled') return message;
  const ownerEffect = ownerEffectOf(text, settings);
  if (!ownerEffect) return message;
  const ignoredReason = ownerEffect.kind === 'takeover' ? 'owner-message' : message.ignoredReason;
  return { ...message, ownerEffect, ignoredReason };
}
