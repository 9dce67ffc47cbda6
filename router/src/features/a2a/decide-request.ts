import { createHash } from 'node:crypto';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { allowedRoutes, mayUseChat } from '../../core/access/caller.ts';
import type { Environment } from '../../core/models.ts';
import type { RouteStore } from '../../core/ports/route-store.ts';
import { type ChoosePersonDeps, choosePerson } from '../tasks/choose-person.ts';
import { chooseSkill, type SharedRoute, sharedRoutes } from '../tasks/choose-skill.ts';
import type { NewUpdate, ServedRequest } from '../tasks/served-tasks.ts';
import type { A2aCaller } from './a2a-caller.ts';
import type { A2aInput } from './a2a-wire.ts';

const DEFAULT_DEADLINE_MINUTES = { 'message-person': 60, 'ask-person': 1_440 };

export interface DecideRequestDeps extends ChoosePersonDeps {
  routes: Pick<RouteStore, 'list'>;
  environment: Environment;
}

type Owner = Pick<A2aCaller, 'caller' | 'userName'>;

/** What a message becomes: something to do, or a first update without it. */
export type Decision = { request: ServedRequest } | { update: Omit<NewUpdate, 'key'> };

/**
 * Chooses the skill of a message, and checks what the skill needs and what the caller may use.
 * @throws {RequestMalformedError} a sentence for the caller
 */
export async function decideRequest(
  deps: DecideRequestDeps,
  input: A2aInput,
  contextId: string,
  caller: Owner,
): Promise<Decision> {
  const shared = await usableRoutes(deps, caller);
  const choice = chooseSkill(input, shared);
  const skills = ['message-person', 'ask-person', ...shared.map(({ skill }) => skill)].join(', ');
  if (choice.kind === 'unknown') {
    throw new RequestMalformedError(`There is no skill "${input.skill}". Skills: ${skills}.`);
  }
  if (choice.kind === 'unclear') {
    const text = `Choose a skill: send a data part {"skill", "to", "text", "deadlineMinutes"}. Skills: ${skills}.`;
    return { update: { state: 'input-required', text } };
  }
  if (input.text.trim() === '') throw new RequestMalformedError('text is missing.');
  if (choice.kind === 'route') {
    const { id: routeId, accountId } = choice.route;
    const sessionId = sessionOf(caller.userName, contextId);
    return { request: { skill: 'talk-to-route', accountId, routeId, text: input.text, sessionId } };
  }
  return decidePerson(deps, choice.skill, input, caller);
}

async function decidePerson(
  deps: DecideRequestDeps,
  skill: 'message-person' | 'ask-person',
  input: A2aInput,
  { caller }: Pick<A2aCaller, 'caller'>,
): Promise<Decision> {
  const chosen = await choosePerson(deps, skill, input, caller);
  if ('problem' in chosen) throw new RequestMalformedError(chosen.problem);
  if ('refusal' in chosen) return { update: { state: 'rejected', text: chosen.refusal } };
  const deadlineMinutes = input.deadlineMinutes ?? DEFAULT_DEADLINE_MINUTES[skill];
  return { request: { skill, ...chosen, text: input.text, deadlineMinutes } };
}

/** The shared routes that the caller may use. */
export async function usableRoutes(
  { routes, environment, aliasesOf }: DecideRequestDeps,
  { caller }: Pick<A2aCaller, 'caller'>,
): Promise<SharedRoute[]> {
  const all = sharedRoutes((await routes.list()).filter((route) => route.environment === environment));
  const allowed = allowedRoutes(caller);
  const usable: SharedRoute[] = [];
  for (const shared of all) {
    if (allowed && !allowed.includes(shared.route.id)) continue;
    if (await mayUseChat(caller, shared.route, aliasesOf)) usable.push(shared);
  }
  return usable;
}

/** The agent's conversation of a context: two owners with the same context have two. */
function sessionOf(owner: string, contextId: string): string {
  return `a2a-${createHash('sha256')
    .update(JSON.stringify([owner, contextId]))
    .digest('hex')
    .slice(0, 32)}`;
}
