import { Wa2aiError } from '../../../core/errors.ts';
import { type AgentDeps, agentKind, type ProbeFinding, reachFinding } from '../agent-kind.ts';
import { AbiAgentClient } from './abi-agent-client.ts';
import { type AbiSettings, abiSettings } from './abi-settings.ts';
import { abiSettingsProblems, callUrl, rulesOf } from './codec/abi-rules.ts';
import { Manifests } from './input/manifests.ts';
import { abiTools } from './toolkit/abi-tools.ts';

const MAX_BYTES = 256 * 1024;

/** Warnings about a route to this agent: the agent cannot be reached, or its manifest cannot be used. */
export async function abiFindings(
  agentEndpoint: string,
  settings: AbiSettings,
  deps: Pick<AgentDeps, 'clock' | 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const found = await Promise.all([
    endpointFinding(agentEndpoint, settings, deps),
    manifestFinding(settings, deps),
  ]);
  return found.filter((finding) => finding !== undefined);
}

async function endpointFinding(
  agentEndpoint: string,
  { headers }: AbiSettings,
  { transport, signal }: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding | undefined> {
  const health = await transport.fetch(callUrl(agentEndpoint, '/health'), {
    method: 'GET',
    headers: new Headers(headers),
    signal,
    maxBytes: MAX_BYTES,
  });
  const found =
    health.kind === 'answer'
      ? { status: health.status }
      : { problem: health.fault === 'aborted' ? 'no answer in time' : health.detail };
  const fields = { address: 'agentEndpoint', headers: 'config.abi.headers' };
  return reachFinding(`ABI agent at ${new URL(agentEndpoint).origin}`, found, fields);
}

async function manifestFinding(
  settings: AbiSettings,
  { clock, transport, signal }: Pick<AgentDeps, 'clock' | 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding | undefined> {
  if (typeof settings.functions !== 'string') return undefined;
  const code = 'AGENT_MANIFEST';
  try {
    const entries = await new Manifests(clock, transport).entriesOf(settings.functions, signal);
    const result = await rulesOf(entries, settings);
    if (result.ok) return undefined;
    const [problem] = result.problems;
    const field = `config.abi.${problem?.field}`;
    return { code, field, message: `The settings do not fit the manifest: ${problem?.message}.` };
  } catch (error) {
    if (!(error instanceof Wa2aiError)) throw error;
    return { code, field: 'config.abi.functions', message: error.message };
  }
}

/** Agents that take ABI calldata over HTTP (agent container specification). */
export const abiKind = agentKind<AbiSettings>({
  name: 'abi',
  description: 'An agent that takes ABI calldata (agent container specification).',
  settings: abiSettings,
  check: abiSettingsProblems,
  endpointOf: (agentEndpoint) => agentEndpoint,
  probe: abiFindings,
  tools: abiTools,
  client: ({ defaultTimeoutMs, log, clock, transport }) => {
    const manifests = new Manifests(clock, transport);
    return (abi, _route, own = transport) =>
      new AbiAgentClient({ abi, timeoutMs: defaultTimeoutMs, log, clock, manifests, transport: own });
  },
});
