import type { AgentClients } from '../../core/agent-client.ts';
import { Wa2aiError } from '../../core/errors.ts';
import type { Route } from '../../core/models.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { MessageToPreview } from '../../core/routing/explain-route.ts';

/**
 * What wa2ai would send to the agent of a route for a message; undefined when its client has no preview. An error of the
 * settings is part of the explanation: `{kind: 'error', sentence}`.
 * @throws anything but a Wa2aiError
 */
export async function previewCall(
  agents: AgentClients,
  clock: Pick<Clock, 'now'>,
  route: Route,
  message: MessageToPreview,
): Promise<Record<string, unknown> | undefined> {
  try {
    const client = agents.clientFor(route);
    const explained = { ...message, id: 'explain', timestamp: new Date(clock.now()) };
    return await client.preview?.(explained, route.agentEndpoint);
  } catch (error) {
    if (error instanceof Wa2aiError) return { kind: 'error', sentence: error.message };
    throw error;
  }
}
