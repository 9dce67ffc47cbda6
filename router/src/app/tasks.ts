import type { Config } from '../config/config.ts';
import { deleteAccount } from '../core/cluster/delete-account.ts';
import { deliverReplies } from '../core/delivery/deliver-reply.ts';
import type { ReplayDeps } from '../core/delivery/replay-dead-letters.ts';
import { sendMessage } from '../core/delivery/send-message.ts';
import { startOpenTasks } from '../core/npc/open-npc-task.ts';
import { type RunNpcTaskDeps, runNpcTask } from '../core/npc/run-npc-task.ts';
import type { AccountDeletion } from '../core/ports/account-deletion.ts';
import type { DurableTasks } from '../core/ports/durable-tasks.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { ServedTasks } from '../core/ports/served-tasks.ts';
import type { TaskHooks } from '../core/ports/task-hooks.ts';
import { HookStarter } from '../core/served-tasks/hook-starter.ts';
import { type PushUpdatesDeps, pushUpdates } from '../core/served-tasks/push-updates.ts';
import { serveTask } from '../core/served-tasks/serve-task.ts';
import type { ServeTaskDeps } from '../core/served-tasks/skill-deps.ts';
import { TaskFeed } from '../core/served-tasks/task-feed.ts';
import { TaskStarter } from '../core/served-tasks/task-starter.ts';
import { type FollowTaskDeps, followTask } from '../core/tasks/follow-task.ts';
import { TaskFollower } from '../core/tasks/task-follower.ts';
import { AgentTransport } from '../infra/agents/transport/agent-transport.ts';
import { Egress } from '../infra/agents/transport/egress.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { DbosTasks } from '../infra/engine/dbos-tasks.ts';
import { sendPush } from '../infra/faces/a2a/push/push-sender.ts';
import { type SigningKey, signingKey } from '../infra/faces/a2a/push/signing-key.ts';
import { PostgresAccountDeletion } from '../infra/storage/stores/postgres-account-deletion.ts';
import { PostgresDeadLetters } from '../infra/storage/stores/postgres-dead-letters.ts';
import { PostgresOutbox } from '../infra/storage/stores/postgres-outbox.ts';
import { PostgresServedTasks } from '../infra/storage/stores/postgres-served-tasks.ts';
import { PostgresTaskHooks } from '../infra/storage/stores/postgres-task-hooks.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { NpcParts } from './npc.ts';
import type { Part } from './part.ts';
import type { TurnParts } from './turns.ts';

/** How often one node searches for unfinished tasks of dead nodes, and for tasks of agents that nobody follows. */
const RESUME_EVERY_MS = 60_000;

export interface TaskParts {
  tasks: DurableTasks;
  /** Tasks that wa2ai does for programs. */
  servedTasks: ServedTasks;
  taskFeed: TaskFeed;
  taskStarter: TaskStarter;
  taskHooks: TaskHooks;
  hookStarter: HookStarter;
  /** Signs push notifications. */
  pushKey(): Promise<SigningKey>;
  /** To receivers of push notifications. */
  pushTransport: AgentTransport;
  replay: ReplayDeps;
}

/** Long work that survives a crash. Started, it continues unfinished tasks in the background. */
export function createTasks(
  config: Pick<Config, 'egress'>,
  parts: DatabaseParts & ClusterParts & TurnParts & NpcParts,
  log: Logger,
): Part<TaskParts> {
  const { databaseUrl, postgres, nodeId, bus, placement, registry, accounts, workers } = parts;
  const { remoteTasks, startedTasks, routes, agents, mintId } = parts;
  const replay: ReplayDeps = {
    deadLetters: new PostgresDeadLetters(postgres),
    workers,
    deliver: (reply) => deliverReplies({ accounts: registry, bus }, [reply]),
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
    remoteTasks,
    routes,
    agents,
    mintId,
    deliver: (replies) => deliverReplies({ accounts: registry, bus }, replies),
    clock: systemClock,
    random: Math.random,
    log: log.child({ mod: 'tasks' }),
  };
  const servedTasks = new PostgresServedTasks(postgres);
  const taskLog = log.child({ mod: 'tasks' });
  const taskFeed = new TaskFeed({ servedTasks, bus, clock: systemClock, log: taskLog });
  const outbox = new PostgresOutbox(postgres);
  const served: ServeTaskDeps = {
    servedTasks,
    questions: parts.questions,
    feed: taskFeed,
    sendMessage: (input) => sendMessage({ outbox, mintId, deliver: replay.deliver }, input),
    messageLog: parts.messageLog,
    routes,
    agents,
    policy: parts.failureDefaults,
    clock: systemClock,
    log: taskLog,
  };
  const taskHooks = new PostgresTaskHooks(postgres);
  let loadingKey: Promise<SigningKey> | undefined;
  const pushKey = () => {
    loadingKey ??= signingKey(parts.faceSettings, postgres.secrets).catch((error: unknown) => {
      loadingKey = undefined;
      throw error;
    });
    return loadingKey;
  };
  // Programs name these addresses: private ones are refused unless the operator allows every address.
  const pushTransport = new AgentTransport(new Egress(config.egress === 'any' ? 'any' : 'public'));
  const pushed: PushUpdatesDeps = {
    hooks: taskHooks,
    feed: taskFeed,
    send: (...update) => sendPush({ transport: pushTransport, key: pushKey, clock: systemClock }, ...update),
    clock: systemClock,
    random: Math.random,
    log: taskLog,
  };
  const npcLog = log.child({ mod: 'npc' });
  const npc: RunNpcTaskDeps = {
    npcTasks: parts.npcTasks,
    emotions: parts.emotions,
    memories: parts.memories,
    trades: parts.trades,
    settings: parts.npcSettings,
    chain: parts.chain,
    transactions: parts.transactions,
    chainEvents: parts.chainEvents,
    routes,
    agents,
    sendMessage: (input) => sendMessage({ outbox, mintId, deliver: replay.deliver }, input),
    clock: systemClock,
    random: Math.random,
    log: npcLog,
  };
  const tasks = new DbosTasks({
    databaseUrl,
    postgres,
    nodeId,
    functions: {
      'delete-account': (steps, input) => deleteAccount({ accounts, deletion }, steps, input),
      'follow-task': (steps, input) => followTask(followed, steps, input),
      'npc-task': (steps, input) => runNpcTask(npc, steps, input),
      'serve-task': (steps, input) => serveTask(served, steps, input),
      'push-updates': (steps, input) => pushUpdates(pushed, steps, input),
    },
    exclusively: (work) => bus.transport.exclusively(work),
    log: log.child({ mod: 'tasks' }),
  });
  const follower = new TaskFollower({ remoteTasks, tasks, log: log.child({ mod: 'tasks' }) });
  const taskStarter = new TaskStarter({ servedTasks, tasks, log: taskLog });
  const hookStarter = new HookStarter({ hooks: taskHooks, tasks, log: taskLog });
  const stopping = new AbortController();
  const keepResuming = async () => {
    while (!stopping.signal.aborted) {
      await tasks.resume((node) => placement.isCoordinator && placement.isExpired(node));
      if (placement.isCoordinator) {
        await follower.sweep();
        await taskStarter.sweep();
        await hookStarter.sweep();
        await startOpenTasks({ npcTasks: parts.npcTasks, tasks, log: npcLog });
      }
      await systemClock.sleep(RESUME_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  };
  let resuming: Promise<void> | undefined;
  return {
    parts: {
      tasks,
      replay,
      servedTasks,
      taskFeed,
      taskStarter,
      taskHooks,
      hookStarter,
      pushKey,
      pushTransport,
    },
    start: async () => {
      startedTasks.listen((messageId) => void follower.follow(messageId));
      resuming = keepResuming();
    },
    stop: async () => {
      stopping.abort();
      await resuming;
      await tasks.stop();
    },
  };
}
