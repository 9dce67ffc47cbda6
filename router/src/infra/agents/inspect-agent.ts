import type { Clock } from '../../core/ports/clock.ts';
import type { AgentKind } from './agent-kind.ts';
import {
  type AgentTools,
  type Inspection,
  type ToolInput,
  ToolkitError,
  ToolUsageError,
} from './agent-tools.ts';
import type { AgentTransport } from './transport/agent-transport.ts';

export type KindWithTools = AgentKind & { tools: AgentTools };

/** No kind recognizes an agent: nothing answers, or something whose protocol none of them is. */
export type NoAgent = 'no-answer' | 'unknown-protocol';

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
 */
export async function inspectAgent(
  { kinds, transport, clock }: InspectAgentDeps,
  url: string,
): Promise<Inspection | NoAgent> {
  const withTools = kinds.filter((kind): kind is KindWithTools => kind.tools !== undefined);
  const input = { url, options: {}, timeoutMs: TIMEOUT_MS, transport, clock };
  const kind = await detectKind(withTools, input);
  if (typeof kind === 'string') return kind;
  try {
    return (await kind.tools.inspect.run(input)).report as Inspection;
  } catch (error) {
    if (!(error instanceof ToolkitError) && !(error instanceof ToolUsageError)) throw error;
    // The kind is known, and a person must say the rest.
    return { kind: kind.name, url, isReachable: true, answer: error.message, latencyMs: 0, capabilities: [] };
  }
}

/** The first kind that recognizes the agent at an address. Sends only harmless requests. */
export async function detectKind(
  kinds: readonly KindWithTools[],
  input: ToolInput,
): Promise<KindWithTools | NoAgent> {
  // Together: an address that does not answer takes one time limit, not one for each kind.
  const detected = await Promise.all(kinds.map(({ tools }) => tools.detect(input)));
  const kind = kinds.find((_, index) => detected[index]);
  if (kind) return kind;
  const { url, transport, timeoutMs } = input;
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await transport.fetch(url, {
    method: 'HEAD',
    headers: new Headers(),
    signal,
    maxBytes: 65_536,
  });
  return answer.kind === 'answer' ? 'unknown-protocol' : 'no-answer';
}
