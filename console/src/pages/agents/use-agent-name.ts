import type { Schemas } from '../../api/call.ts';
import { useTexts } from '../../app/language.ts';

/** A hook that returns what people call a hosted agent: its route and whom it answers, else its id. */
export function useAgentName(): (agent: Schemas['HostedAgent']) => string {
  const { agentFor } = useTexts('agents');
  return ({ id, routeName, usedBy }) => {
    if (usedBy !== undefined) return agentFor(routeName, usedBy);
    // Programs choose the other ids.
    return id.startsWith('r-') ? (routeName ?? id) : id;
  };
}
