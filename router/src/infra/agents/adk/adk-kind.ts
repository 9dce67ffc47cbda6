import { HttpAgentClient } from '../../http-agent-client.ts';
import { agentKind } from '../agent-kind.ts';
import { aboutAdk, adkFindings } from './adk-probe.ts';
import { type AdkSettings, adkSettings } from './adk-settings.ts';
import { AdkState } from './adk-state.ts';
import { adkTools } from './adk-tools.ts';

/** Google's Agent Development Kit over HTTP: the protocol of the agent contract. */
export const adkKind = agentKind<AdkSettings>({
  name: 'adk',
  description: 'A Google ADK server.',
  settings: adkSettings,
  endpointOf: (agentEndpoint, { baseUrl }) => baseUrl ?? agentEndpoint,
  probe: adkFindings,
  about: aboutAdk,
  tools: adkTools,
  client: ({ defaultTimeoutMs, log, clock, transport }) => {
    const state = new AdkState();
    const shared = { log, clock, state, readsSessionFirst: true };
    return ({ timeoutMs, ...adk }, _route, own = transport) =>
      new HttpAgentClient({ timeout: timeoutMs ?? defaultTimeoutMs, adk, ...shared, transport: own });
  },
});
