import { LRUCache } from 'lru-cache';
import type { AgentClient, AgentClients } from '../../core/agent-client.ts';
import { AgentProtocolError } from '../../core/errors.ts';
import type { Route } from '../../core/models.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { HttpAgentClient } from '../http-agent-client.ts';
import { AbiAgentClient } from './abi/abi-agent-client.ts';
import { Manifests } from './abi/input/manifests.ts';
import { AdkState } from './adk/adk-state.ts';

/** Clients hold no connection, so what falls out of the cache is made again for next to nothing. */
const MAX_CLIENTS = 1_000;

export interface AgentClientsOptions {
  /** Time limit of an ask when the route names none, in milliseconds. */
  defaultTimeoutMs: number;
  log: Logger;
  clock: Clock;
}

/**
 * The client for each route by its agent kind. One client per version of a route: a changed route gets a new one, and
 * what was learnt of its server stays. Another kind is added in `makeClient`.
 */
export function createAgentClients(options: AgentClientsOptions): AgentClients {
  const state = new AdkState();
  const manifests = new Manifests(options.clock);
  const clients = new LRUCache<string, AgentClient>({ max: MAX_CLIENTS });

  function makeClient({ id, config }: Route): AgentClient {
    const { log, clock } = options;
    if (config.adk) {
      const { timeoutMs, ...adk } = config.adk;
      return new HttpAgentClient({ timeout: timeoutMs ?? options.defaultTimeoutMs, adk, log, clock, state });
    }
    if (config.abi) {
      const timeoutMs = options.defaultTimeoutMs;
      return new AbiAgentClient({ abi: config.abi, timeoutMs, log, clock, manifests });
    }
    throw new AgentProtocolError(
      `Route ${id} names no agent kind that wa2ai knows; give its config an "adk" or "abi" part.`,
    );
  }

  return {
    clientFor(route) {
      const version = `${route.id}@${route.updatedAt.getTime()}`;
      const known = clients.get(version);
      if (known) return known;
      const client = makeClient(route);
      clients.set(version, client);
      return client;
    },
  };
}
