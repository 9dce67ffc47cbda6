import type { Clock } from '../../core/ports/clock.ts';
import type { AgentKind } from './agent-kind.ts';
import { type AgentTools, ToolkitError, ToolUsageError } from './agent-tools.ts';
import type { Inspection } from './inspection.ts';
import type { AgentTransport } from './transport/agent-transport.ts';

type KindWithTools = AgentKind & { tools: AgentTools };

export interface InspectAgentDeps {
  kinds: readonly AgentKind[];
  transport: AgentTransport;
  clock: Clock;
}

/** Longest wait for one answer of the agent. */
const TIMEOUT_MS = 5_000;

/**
 * Finds out what kind of agent answers at an address, and what it says about itself. Sends only harmless requests. Where
 * several kinds recognize the agent, the first one of the list is used.
 * @returns undefined when no agent answers
 */
export async function inspectAgent(
  { kinds, transport, clock }: InspectAgentDeps,
  url: string,
): Promise<Inspection | undefined> {
  const withTools = kinds.filter((kind): kind is KindWithTools => kind.tools !== undefined);
  const input = { url, options: {}, timeoutMs: TIMEOUT_MS, transport, clock };
  // Together: an address that does not answer takes one time limit, not one for each kind.
  const detected = await Promise.all(withTools.map(({ tools }) => tools.detect(input)));
  const kind = withTools.find((_, index) => detected[index]);
  if (!kind) return undefined;
  try {
    return (await kind.tools.inspect.run(input)).report as Inspection;
  } catch (error) {
    if (!(error instanceof ToolkitError) && !(error instanceof ToolUsageError)) throw error;
    // The kind is known, and a person must say the rest.
    return { kind: kind.name, url, isReachable: true, answer: error.message, latencyMs: 0, capabilities: [] };
  }
}
