import type { AgentClient, AgentClients, TaskNow } from '../../core/agent-client.ts';
import { AgentUnavailableError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { FollowedRow, RemoteTasks } from '../../core/ports/remote-tasks.ts';
import type { RouteStore } from '../../core/ports/route-store.ts';
import { withLimit } from '../../core/time-limit.ts';

/** Longest wait for the agent. */
const LIMIT_MS = 10_000;

export interface AskAboutTaskDeps {
  remoteTasks: Pick<RemoteTasks, 'followed'>;
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  clock: Clock;
}

/**
 * What the agent of a running task says of it now.
 * @returns undefined: the task has ended, or its agent cannot be asked
 * @throws {Wa2aiError} the agent does not answer
 */
export async function askAboutTask(
  deps: AskAboutTaskDeps,
  taskId: string,
  gone?: AbortSignal,
): Promise<TaskNow | undefined> {
  return await atAgent(deps, taskId, gone, async ({ client, endpoint, row, signal }) =>
    client.taskNow?.(endpoint, row, signal),
  );
}

/**
 * Asks the agent of a running task to cancel it. The chat gets the end when the agent reports it.
 * @returns `ended`: it does not run; `refused`: its agent does not cancel it
 * @throws {Wa2aiError} the agent does not answer
 */
export async function cancelTask(
  deps: AskAboutTaskDeps,
  taskId: string,
  gone?: AbortSignal,
): Promise<'asked' | 'refused' | 'ended'> {
  const outcome = await atAgent(deps, taskId, gone, async ({ client, endpoint, row, signal }) =>
    (await client.cancelTask?.(endpoint, row, signal)) ? ('asked' as const) : ('refused' as const),
  );
  return outcome ?? 'ended';
}

interface Asked {
  client: AgentClient;
  endpoint: string;
  row: FollowedRow;
  signal: AbortSignal;
}

/** @returns undefined: the task has ended, or the route that opened it is gone */
async function atAgent<T>(
  { remoteTasks, routes, agents, clock }: AskAboutTaskDeps,
  taskId: string,
  gone: AbortSignal | undefined,
  work: (asked: Asked) => Promise<T>,
): Promise<T | undefined> {
  const row = await remoteTasks.followed(taskId);
  const route = row && (await routes.get(row.routeId));
  if (!row || !route || route.damage !== undefined) return undefined;
  const client = agents.clientFor(route);
  return await withLimit(clock, LIMIT_MS, gone, async (signal) => {
    try {
      return await work({ client, endpoint: route.agentEndpoint, row, signal });
    } catch (error) {
      gone?.throwIfAborted();
      if (!signal.aborted) throw error;
      throw new AgentUnavailableError(`The agent did not answer within ${LIMIT_MS / 1_000} seconds.`);
    }
  });
}
