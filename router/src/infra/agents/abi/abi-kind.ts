import { agentKind } from '../agent-kind.ts';
import { AbiAgentClient } from './abi-agent-client.ts';
import { abiFindings } from './abi-probe.ts';
import { type AbiSettings, abiSettings } from './abi-settings.ts';
import { abiSettingsProblems } from './codec/abi-rules.ts';
import { Manifests } from './input/manifests.ts';
import { abiTools } from './toolkit/abi-tools.ts';

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
