import { AgentUnavailableError } from '../../../../core/errors.ts';
import type { AgentCardFacts, AgentDeps } from '../../agent-kind.ts';
import type { NpcSettings } from '../npc-settings.ts';
import { fetchCard } from './npc-cards.ts';
import { cardUrlOf, npcServer } from './npc-server.ts';

/** The card of an agent of the NPC Engine, for operators. @throws {AgentUnavailableError} it does not answer */
export async function npcCardFacts(
  agentEndpoint: string,
  settings: NpcSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<AgentCardFacts | undefined> {
  const url = cardUrlOf(agentEndpoint, settings);
  const { secrets, headersFor } = npcServer(agentEndpoint, settings, undefined);
  const { card, problem } = await fetchCard(url, headersFor(url), deps);
  if (problem !== undefined) {
    const why = secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), problem);
    throw new AgentUnavailableError(`The NPC agent does not send its card: ${why}.`);
  }
  if (!card) return undefined;
  const { name, version, description, capabilities, streamUrl, authType, keyHeader } = card;
  return {
    url,
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    ...(description !== undefined && { description }),
    interfaces: ['JSON-RPC', ...(streamUrl === undefined ? [] : ['events of tasks'])],
    capabilities,
    skills: [],
    authentication: authType === undefined ? [] : [`${authType}, in the header ${keyHeader}`],
  };
}
