import { DEAD_FOR_MS } from '../core/cluster/chat-placement.ts';
import type { DurableTasks } from '../core/ports/durable-tasks.ts';
import type { Logger } from '../core/ports/logger.ts';
import { HookStarter } from '../features/a2a/push-updates.ts';
import {
  type AccountDeletion,
  deleteAccount,
  PostgresAccountDeletion,
} from '../features/accounts/delete-account.ts';
import { PostgresDeadLetters, type ReplayDeps } from '../features/dead-letters/dead-letters.ts';
import { startOpenTasks } from '../features/npc/open-npc-task.ts';
import { type FollowTaskDeps, followTask, TaskFollower } from '../features/tasks/follow-task.ts';
import { TaskStarter } from '../features/tasks/serve-task.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { DbosTasks } from '../infra/engine/dbos-tasks.ts';
import type { A2aParts } from './a2a.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { DeliveryParts } from './delivery.ts';
import type { NpcParts } from './npc.ts';
import type { Part } from './part.ts';
import type { TurnParts } from './turns.ts';

/** How often one node searches for unfinished tasks of dead nodes, and for tasks that nobody started; also when a node dies. */
const RESUME_EVERY_MS = 60_000;
/** A task that waits for longer has lost its start to a crash. */
const FORGOTTEN_AFTER_MS = 30_000;

export interface TaskParts {
  tasks: DurableTasks;
  taskStarter: TaskStarter;
  hookStarter: HookStarter;
  replay: ReplayDeps;
}

/** Long work that survives a crash. Started, it continues unfinished tasks in the background. */
export function createTasks(
  parts: DatabaseParts & ClusterParts & TurnParts & DeliveryParts & NpcParts & A2aParts,
  log: Logger,
): Part<TaskParts> {
  const { databaseUrl, postgres, nodeId, bus, placement, accounts, workers, deliver } = parts;
  const { remoteTasks, startedTasks, routes, agents, mintId, npcTasks, shortTasks, exchangeRecorder } = parts;
  const taskLog = log.child({ mod: 'tasks' });
  const replay: ReplayDeps = {
    deadLetters: new PostgresDeadLetters(postgres),
    workers,
    deliver,
  };
  const rows = new PostgresAccountDeletion(postgres);
  const deletion: AccountDeletion = {
    close: async (accountId) => {
      await rows.close(accountId);
      accounts.forget(accountId);
    },
    deleteRows: (accountId, limit) => rows.deleteRows(accountId, limit),
  };
  const followed: FollowTaskDeps = {
    ...parts.shaping,
    remoteTasks,
    routes,
    agents,
    ...(exchangeRecorder && { recorder: exchangeRecorder }),
    mintId,
    deliver,
    clock: systemClock,
    random: Math.random,
    log: taskLog,
  };
  const tasks = new DbosTasks({
    databaseUrl,
    postgres,
    nodeId,
    functions: {
      'delete-account': (steps, input) => deleteAccount({ accounts, deletion }, steps, input),
      'follow-task': (steps, input) => followTask(followed, steps, input),
      'npc-task': parts.runNpcTask,
      'serve-task': parts.serveTask,
      'push-updates': parts.pushUpdates,
    },
    exclusively: (work) => bus.transport.exclusively(work),
    log: taskLog,
  });
  const follower = new TaskFollower({ remoteTasks, tasks, log: taskLog });
  const taskStarter = new TaskStarter({ servedTasks: parts.servedTasks, tasks, log: taskLog });
  const hookStarter = new HookStarter({ hooks: parts.taskHooks, tasks, log: taskLog });
  const stopping = new AbortController();
  /** Every start is idempotent. @param waitedMs 0: a process has died just now */
  const resume = async (waitedMs: number) => {
    await tasks.resume((node) => placement.isCoordinator && placement.isExpired(node));
    if (!placement.isCoordinator) return;
    await follower.sweep();
    await taskStarter.sweep(waitedMs);
    await hookStarter.sweep(waitedMs);
    await startOpenTasks({ npcTasks, shortTasks, tasks, log: taskLog }, waitedMs);
  };
  const keepResuming = async () => {
    let death = new AbortController();
    placement.listen(() => death.abort());
    // The first time: this node's earlier process.
    for (let waitedMs = 0; !stopping.signal.aborted; ) {
      await resume(waitedMs);
      const signal = AbortSignal.any([stopping.signal, death.signal]);
      await systemClock.sleep(RESUME_EVERY_MS, signal).catch(() => undefined);
      waitedMs = death.signal.aborted ? 0 : FORGOTTEN_AFTER_MS;
      if (!death.signal.aborted) continue;
      death = new AbortController();
      await systemClock.sleep(2 * DEAD_FOR_MS, stopping.signal).catch(() => undefined);
    }
  };
  let resuming: Promise<void> | undefined;
  return {
    parts: { tasks, taskStarter, hookStarter, replay },
    start: async () => {
      startedTasks.listen((messageId) => void follower.follow(messageId));
      resuming = keepResuming();
    },
    stop: async () => {
      stopping.abort();
      await resuming;
      await shortTasks.stop();
      await tasks.stop();
    },
  };
}
