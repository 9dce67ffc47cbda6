import { LRUCache } from 'lru-cache';
import type { AgentClient, AgentClients } from '../../core/agent-client.ts';
import { AgentProtocolError } from '../../core/errors.ts';
import type { Route } from '../../core/models.ts';
import { say } from '../../core/phrases.ts';
import type { AgentDeps, AgentKind, ClientMaker } from './agent-kind.ts';
import { agentKinds } from './agent-kinds.ts';
import { kindNamed } from './route-config.ts';

/** A client has no connection, so creating an evicted one again costs little. */
const MAX_CLIENTS = 1_000;

/**
 * The client of each route by its agent kind. Each version of a route has one client: a changed route gets a new one,
 * which uses what earlier clients learned about the server.
 */
export function createAgentClients(
  deps: AgentDeps,
  kinds: readonly AgentKind[] = agentKinds,
): AgentClients & Required<Pick<AgentDeps, 'clientOf'>> {
  const makers: Map<string, ClientMaker> = new Map(
    kinds.map((kind) => [kind.name, kind.client({ ...deps, clientOf: (name) => makers.get(name) })]),
  );
  const clients = new LRUCache<string, AgentClient>({ max: MAX_CLIENTS });

  function makeClient({ id, accountId, config }: Route): AgentClient {
    const make = config.agent && makers.get(config.agent.kind);
    if (make) return make(config.agent?.settings, { id, accountId });
    const names = kinds.map(({ name }) => `"${name}"`).join(' or ');
    throw new AgentProtocolError(say('agent.no-kind', { route: id, names }));
  }

  return {
    clientOf: (name) => makers.get(name),
    clientFor(route) {
      const version = `${route.id}@${route.updatedAt.getTime()}@${deps.defaultTimeoutMs()}`;
      const known = clients.get(version);
      if (known) return known;
      const client = makeClient(route);
      clients.set(version, client);
      return client;
    },
    endpointOf({ agentEndpoint, config }) {
      const kind = kindNamed(kinds, config.agent?.kind);
      return kind ? kind.endpointOf(agentEndpoint, config.agent?.settings) : agentEndpoint;
    },
  };
}
