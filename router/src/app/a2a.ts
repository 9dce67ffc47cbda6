import { ADMIN_OWNER, USER_OWNER } from '../core/access/caller.ts';
import { scopesOfRole } from '../core/access/roles.ts';
import { contains } from '../core/access/scopes.ts';
import type { TaskFunctions } from '../core/ports/durable-tasks.ts';
import type { Logger } from '../core/ports/logger.ts';
import { type PushUpdatesDeps, pushUpdates, sendPush } from '../features/a2a/push-updates.ts';
import { PostgresTaskHooks, type TaskHooks } from '../features/a2a/task-hooks.ts';
import { PostgresConsoleUsers } from '../features/access/postgres-console-users.ts';
import type { ServeTaskDeps } from '../features/tasks/ask-person.ts';
import { PostgresServedTasks } from '../features/tasks/postgres-served-tasks.ts';
import { serveTask } from '../features/tasks/serve-task.ts';
import type { ServedTasks } from '../features/tasks/served-tasks.ts';
import { TaskFeed } from '../features/tasks/task-feed.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { DeliveryParts } from './delivery.ts';
import type { TurnParts } from './turns.ts';

/** Tasks that wa2ai does for programs, and what the A2A face needs of them. */
export interface A2aParts {
  servedTasks: ServedTasks;
  taskFeed: TaskFeed;
  taskHooks: TaskHooks;
  serveTask: TaskFunctions['serve-task'];
  pushUpdates: TaskFunctions['push-updates'];
}

export function createA2a(
  parts: DatabaseParts & ClusterParts & TurnParts & DeliveryParts,
  log: Logger,
): A2aParts {
  const { postgres, bus, questions, messageLog, routes, agents } = parts;
  const clock = systemClock;
  const taskLog = log.child({ mod: 'a2a' });
  const servedTasks = new PostgresServedTasks(postgres);
  const taskFeed = new TaskFeed({ servedTasks, bus, clock, log: taskLog });
  const taskHooks = new PostgresTaskHooks(postgres);
  const users = new PostgresConsoleUsers(postgres);
  const served: ServeTaskDeps = {
    servedTasks,
    questions,
    feed: taskFeed,
    sendMessage: parts.sendMessage,
    messageLog,
    routes,
    agents,
    policy: parts.failureDefaults,
    circuits: parts.circuits,
    clock,
    log: taskLog,
  };
  const pushed: PushUpdatesDeps = {
    hooks: taskHooks,
    feed: taskFeed,
    send: (...update) => sendPush({ transport: parts.publicTransport, key: parts.pushKey, clock }, ...update),
    mayReceive: async (owner) => {
      if (owner === ADMIN_OWNER) return true;
      if (owner.startsWith(USER_OWNER)) {
        const user = await users.find(owner.slice(USER_OWNER.length));
        return user !== undefined && !user.disabledAt && contains(scopesOfRole(user.role), 'a2a');
      }
      const key = await parts.keys.find(owner);
      const hasExpired = key?.expiresAt !== undefined && key.expiresAt.getTime() <= clock.now();
      return key !== undefined && !hasExpired && contains(key.scopes, 'a2a');
    },
    clock,
    random: Math.random,
    log: taskLog,
  };
  return {
    servedTasks,
    taskFeed,
    taskHooks,
    serveTask: (steps, input) => serveTask(served, steps, input),
    pushUpdates: (steps, input) => pushUpdates(pushed, steps, input),
  };
}
