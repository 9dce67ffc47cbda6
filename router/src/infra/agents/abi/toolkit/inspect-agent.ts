import type { AgentAbi } from '../codec/abi-signature.ts';
import type { Envelope } from '../codec/abi-wire.ts';
import { type AgentProbe, said } from './agent-probe.ts';

/** What can be learnt of an agent without calling a function. */
export interface InspectReport {
  url: string;
  isReachable: boolean;
  health: string;
  /** Names that /health lists. */
  methods: string[];
  envelope?: Envelope;
  /** Of the ABI, when one was given; `isListed` says whether /health names it too, where it names any. */
  functions: Array<{ signature: string; selector: string; isListed?: boolean }>;
}

/** Looks at /health and at how the agent refuses an unknown selector. Never throws for an agent's failure. */
export async function inspectAgent(probe: AgentProbe, abi: AgentAbi | undefined): Promise<InspectReport> {
  const health = await probe.health();
  const isReachable = health.status !== 0;
  const methods = health.status === 200 ? methodsIn(health.body) : [];
  return {
    url: probe.url,
    isReachable,
    health: said(health),
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
