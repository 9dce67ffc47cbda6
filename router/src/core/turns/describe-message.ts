import type { AgentClients } from '../agent-client.ts';
import { describeCard } from '../messages/message-card.ts';
import type { IncomingMessage, Route } from '../models.ts';

/**
 * The message as the agent of the route gets it: without words, a location, a contact and the like has its description as
 * the text. Words of a person stay as written.
 */
export function describedMessage(
  agents: AgentClients,
  route: Route,
  message: IncomingMessage,
): IncomingMessage {
  const { text, card } = message;
  if (text !== '' || !card) return message;
  // Of a damaged route, the attempt reports what is wrong.
  const isRead = route.damage !== undefined || (agents.clientFor(route).readsDescriptions?.() ?? true);
  return isRead ? { ...message, text: describeCard(card) } : message;
}
