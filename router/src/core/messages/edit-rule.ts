import { policyOfChat } from '../routing/policy-of-chat.ts';
import type { RouteDeps } from '../routing/route-message.ts';
import { messageToRoute } from '../routing/when-facts.ts';
import type { InboundMessage } from './inbound-message.ts';

/**
 * Applies `edits: ignore`: an edit is stored and never answered (`edit-ignored`), and a deletion ends no message. The
 * setting is that of the route for the new text; a deletion has none. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or settings cannot be read
 */
export async function applyEditRule(deps: RouteDeps, message: InboundMessage): Promise<InboundMessage> {
  const { editOf, deletes, ignoredReason } = message;
  const isEdit = editOf !== undefined && ignoredReason === undefined;
  if (!isEdit && deletes === undefined) return message;
  const { settings } = await policyOfChat(deps, messageToRoute(message));
  if (settings.edits === 'follow') return message;
  if (isEdit) return { ...message, ignoredReason: 'edit-ignored' };
  const { deletes: _, ...deletion } = message;
  return deletion;
}
