import { agentKind } from '../agent-kind.ts';
import { NpcCards, npcCardFacts, npcServer } from './card/npc-card.ts';
import { NpcAgentClient } from './npc-agent-client.ts';
import { npcFindings } from './npc-probe.ts';
import { type NpcSettings, npcSettings, npcSettingsProblems } from './npc-settings.ts';
import { npcTools } from './npc-tools.ts';

/** Agents that speak the agent card specification of the NPC Engine. */
export const npcKind = agentKind<NpcSettings>({
  name: 'npc',
  description: 'An agent of the NPC Engine (agent card specification): tasks over JSON-RPC.',
  settings: npcSettings,
  check: npcSettingsProblems,
  endpointOf: (agentEndpoint, settings) => npcServer(agentEndpoint, settings, undefined).rpcUrl,
  probe: npcFindings,
  card: npcCardFacts,
  tools: npcTools,
  client: ({ defaultTimeoutMs, log, clock, transport }) => {
    const cards = new NpcCards(clock, transport);
    return (npc) => new NpcAgentClient({ npc, timeoutMs: defaultTimeoutMs, log, clock, transport, cards });
  },
});
