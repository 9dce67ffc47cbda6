import type { AgentDeps, ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import { cardUrlOf, fetchCard, npcServer } from './card/npc-card.ts';
import type { NpcSettings } from './npc-settings.ts';

/** Warnings about a route to this agent: it cannot be reached, or its card has no such capability. */
export async function npcFindings(
  agentEndpoint: string,
  settings: NpcSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const cardUrl = cardUrlOf(agentEndpoint, settings);
  const { secrets, headersFor } = npcServer(agentEndpoint, settings, undefined);
  const answer = await fetchCard(cardUrl, headersFor(cardUrl), deps);
  const problem =
    answer.problem && secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), answer.problem);
  const address = settings.cardUrl === undefined ? 'agentEndpoint' : 'config.npc.cardUrl';
  const fields = { address, headers: 'config.npc.headers' };
  const found = {
    ...(answer.status !== undefined && { status: answer.status }),
    ...(problem && { problem }),
  };
  const unreached = reachFinding(`NPC agent at ${new URL(cardUrl).origin}`, found, fields);
  if (unreached) return [unreached];
  const { capability } = settings;
  if (!answer.card || capability === undefined || answer.card.capabilities.includes(capability)) return [];
  const names = answer.card.capabilities.join(', ').slice(0, 300);
  const message = `The card of the NPC agent has no capability "${capability}". It has: ${names}.`;
  return [{ code: 'AGENT_APP_UNKNOWN', field: 'config.npc.capability', message }];
}
