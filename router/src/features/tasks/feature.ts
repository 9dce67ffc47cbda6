import sql from 'sql-template-tag';
import { OF_MESSAGES } from '../../core/live/live-event.ts';
import type { Feature, Kernel, Service } from '../../feature.ts';
import { questionChanged } from '../../infra/db/stores/postgres-questions.ts';
import { askAboutTask, cancelTask, followTask, followTaskStart } from './follow-task.ts';
import { PostgresServedTasks } from './postgres-served-tasks.ts';
import { serveTask, serveTaskStart } from './serve-task.ts';
import { servedTaskChanged, TaskFeed } from './task-feed.ts';
import { tasksApi } from './tasks-api.ts';

/** Tasks of agents that outlive their turns, and tasks that wa2ai does for programs. */
export const tasks: Feature = {
  name: 'tasks',
  tags: { Tasks: 'Tasks that agents run for messages: list, progress, cancel.' },
  // Those of agents name their chat.
  liveEvents: {
    task: ({ chatId }) => (chatId === undefined ? { scopes: ['admin'], honours: [] } : OF_MESSAGES),
  },
  noteChanges: (bus, note) => {
    for (const changed of [servedTaskChanged, questionChanged]) {
      bus.on(changed, ({ taskId }) => note({ type: 'task', id: taskId, face: 'a2a' }));
    }
  },
  operations: tasksApi,
  durable: {
    'follow-task': followTask,
    'serve-task': serveTask,
  },
  openTasks: async ({ remoteTasks, servedTasks }, waitedMs, limit) => {
    const followed = (await remoteTasks.unfollowed(limit)).map(followTaskStart);
    const served = await servedTasks.waiting(waitedMs, limit);
    return [...followed, ...served.map(({ id, round }) => serveTaskStart(id, round))];
  },
  retention: {
    with: {
      text: [
        // Tasks for programs, with their texts.
        (before, batch) => sql`
          DELETE FROM served_task WHERE id IN (
            SELECT id FROM served_task WHERE state IN ('completed', 'failed', 'canceled', 'rejected', 'input-required')
              AND updated_at < ${before}::timestamptz ORDER BY updated_at LIMIT ${batch})`,
        // Ids of ended tasks at agents, by which people ask for them.
        (before, batch) => sql`
          DELETE FROM remote_task WHERE id IN (
            SELECT id FROM remote_task WHERE state = 'ended' AND ended_at < ${before}::timestamptz ORDER BY id LIMIT ${batch})`,
        // Conversations at agents that nobody continued.
        (before, batch) => sql`
          DELETE FROM agent_session WHERE (account_id, route_id, session_id) IN (
            SELECT account_id, route_id, session_id FROM agent_session WHERE used_at < ${before}::timestamptz
            ORDER BY used_at LIMIT ${batch})`,
      ],
    },
  },
  start: ({ startedTasks, remoteTasks, tasks, logOf }) => {
    const log = logOf('tasks');
    const follow = async (messageId: string) => {
      const taskId = await remoteTasks.startedBy(messageId);
      if (taskId !== undefined) await tasks.start(followTaskStart(taskId));
    };
    startedTasks.listen((messageId) => {
      follow(messageId).catch((error: unknown) => {
        log.warn({ err: error, messageId }, 'cannot follow the task of an agent, retrying');
      });
    });
    return async () => undefined;
  },
};

/** The tasks for programs with their changes, and what people ask about tasks of agents. */
export function taskServices(
  kernel: Kernel,
): Pick<Service, 'servedTasks' | 'taskFeed' | 'askAboutTask' | 'cancelTask'> {
  const { postgres, bus, clock } = kernel;
  const servedTasks = new PostgresServedTasks(postgres);
  return {
    servedTasks,
    taskFeed: new TaskFeed({ servedTasks, bus, clock, log: kernel.logOf('a2a') }),
    askAboutTask: (taskId, signal) => askAboutTask(kernel, taskId, signal),
    cancelTask: (taskId, signal) => cancelTask(kernel, taskId, signal),
  };
}
