import { agentKind } from '../agent-kind.ts';
import { A2aAgentClient, noneAttempted } from './a2a-agent-client.ts';
import { a2aFindings } from './a2a-probe.ts';
import { type A2aSettings, a2aSettings, a2aSettingsProblems } from './a2a-settings.ts';
import { a2aTools } from './a2a-tools.ts';
import { a2aCardFacts } from './card/a2a-card-facts.ts';
import { A2aCards } from './card/a2a-cards.ts';

/** Agents that speak the Agent2Agent protocol, version 1.0 or 0.3. */
export const a2aKind = agentKind<A2aSettings>({
  name: 'a2a',
  description: 'An agent that speaks A2A (Agent2Agent), version 1.0 or 0.3.',
  settings: a2aSettings,
  check: a2aSettingsProblems,
  endpointOf: (agentEndpoint) => agentEndpoint,
  probe: a2aFindings,
  card: a2aCardFacts,
  tools: a2aTools,
  client: ({ defaultTimeoutMs, log, clock, transport, taskPushes }) => {
    const cards = new A2aCards(clock, transport);
    // A hosted agent gets a new client for each attempt.
    const shared = { timeoutMs: defaultTimeoutMs, log, clock, cards, attempted: noneAttempted(), taskPushes };
    return (a2a, { id: routeId }, own) =>
      new A2aAgentClient({
        ...shared,
        a2a,
        routeId,
        transport: own ?? transport,
        isHosted: own !== undefined,
      });
  },
});
