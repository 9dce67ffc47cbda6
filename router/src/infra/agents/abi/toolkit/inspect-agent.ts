import type { AgentAbi } from '../codec/abi-signature.ts';
import type { Envelope } from '../codec/abi-wire.ts';
import { type AgentProbe, answerText } from './agent-probe.ts';

/** Facts about an agent that need no call of a function. */
export interface InspectReport {
  url: string;
  isReachable: boolean;
  health: string;
  /** Names that /health lists. */
  methods: string[];
  envelope?: Envelope;
  /** Functions of the ABI, when one was given. `isListed`: /health names it; absent when /health names none. */
  functions: Array<{ signature: string; selector: string; isListed?: boolean }>;
}

/** Requests /health and sends an unknown selector to detect the envelope. Never throws for an agent's failure. */
export async function inspectAgent(probe: AgentProbe, abi: AgentAbi | undefined): Promise<InspectReport> {
  const health = await probe.health();
  const isReachable = health.status !== 0;
  const methods = health.status === 200 ? methodsIn(health.body) : [];
  return {
    url: probe.url,
    isReachable,
    health: answerText(health),
    methods,
    ...(isReachable && { envelope: await probe.detectEnvelope() }),
    functions: (abi?.functions ?? []).map(({ signature, selector, name }) => ({
      signature,
      selector,
      ...(methods.length > 0 && { isListed: methods.includes(name) }),
    })),
  };
}

function methodsIn(body: Buffer): string[] {
  try {
    const health: unknown = JSON.parse(body.toString('utf8'));
    if (typeof health !== 'object' || health === null || !('methods' in health)) return [];
    const { methods } = health;
    return Array.isArray(methods) ? methods.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}
