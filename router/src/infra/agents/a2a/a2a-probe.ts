import type { AgentCard } from '@a2a-js/sdk';
import { Wa2aiError } from '../../../core/errors.ts';
import type { AgentDeps, ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import type { A2aSettings } from './a2a-settings.ts';
import { findA2aCard } from './card/a2a-cards.ts';
import { a2aHeaders, a2aServer } from './card/a2a-server.ts';

/** Warnings about a route to this agent: it cannot be reached, or its card has no interface that the settings allow. */
export async function a2aFindings(
  agentEndpoint: string,
  settings: A2aSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const answer = await findA2aCard(agentEndpoint, settings, deps);
  const { fetched } = answer;
  const { secrets } = a2aHeaders(agentEndpoint, settings, undefined);
  const problem =
    fetched?.kind === 'fault' ? (fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail) : '';
  const found =
    fetched?.kind === 'answer'
      ? { status: fetched.status }
      : { problem: secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), problem) };
  const address = settings.cardUrl === undefined ? 'agentEndpoint' : 'config.a2a.cardUrl';
  const fields = { address, headers: 'config.a2a.headers' };
  const unreached = reachFinding(`A2A agent at ${new URL(answer.cardUrl).origin}`, found, fields);
  if (unreached) return [unreached];
  try {
    a2aServer(agentEndpoint, settings, answer);
    return [];
  } catch (error) {
    if (!(error instanceof Wa2aiError)) throw error;
    return [{ code: 'AGENT_MANIFEST', field: address, message: error.message }];
  }
}

/** What an agent can do by its card, a line for each. */
export function a2aCapabilities({ capabilities, skills }: AgentCard): string[] {
  return [
    ...(capabilities?.streaming ? ['streaming'] : []),
    ...(skills ?? []).map(({ id, name }) => `skill ${id || name}`),
  ];
}
