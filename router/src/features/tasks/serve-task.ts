import { jidOfChannelId } from '../../core/chat-id.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/ports/durable-tasks.ts';
import { storageRetryMs } from '../../core/retry.ts';
import { askPerson } from './ask-person.ts';
import { messagePerson } from './message-person.ts';
import { isEnd, type ServedRequest, type ServedTask } from './served-tasks.ts';
import type { ServeTaskDeps, SkillDeps } from './skill-deps.ts';
import { talkToRoute } from './talk-to-route.ts';

/**
 * Does a task for a program until it has ended. One durable step: after a crash it runs again, here or on another node.
 * Everything it does is named after the task, so nothing is sent or stored twice.
 */
export async function serveTask(
  deps: ServeTaskDeps,
  steps: TaskSteps,
  { taskId }: TaskInput<'serve-task'>,
): Promise<TaskResult<'serve-task'>> {
  const outcome = await steps.run('serve', () => serveUntilEnd(deps, taskId, steps.stopping));
  return { outcome };
}

/** Waits as long as the database does not answer. @throws the reason of `stopping` */
async function serveUntilEnd(deps: ServeTaskDeps, taskId: string, stopping: AbortSignal): Promise<string> {
  const log = deps.log.child({ task: taskId });
  const watch = deps.feed.watch(taskId);
  try {
    return await serveWatched(
      { ...deps, log, stopping, watch, update: (change) => deps.servedTasks.update(taskId, change) },
      taskId,
    );
  } finally {
    watch.close();
  }
}

async function serveWatched(deps: SkillDeps, taskId: string): Promise<string> {
  const { stopping, log } = deps;
  for (let failures = 0; ; ) {
    stopping.throwIfAborted();
    try {
      const task = await deps.servedTasks.get(taskId);
      if (!task?.request || isEnd(task.state)) return task?.state ?? 'gone';
      if (task.state === 'input-required') return task.state;
      await runSkill(deps, task, task.request);
    } catch (error) {
      stopping.throwIfAborted();
      failures += 1;
      log.warn({ err: error, attempt: failures }, 'cannot do a task, retrying');
      await deps.clock.sleep(storageRetryMs(failures), stopping);
    }
  }
}

async function runSkill(deps: SkillDeps, task: ServedTask, request: ServedRequest): Promise<void> {
  if (request.skill === 'talk-to-route') return talkToRoute(deps, task, request);
  if (jidOfChannelId(request.to) === undefined) {
    await deps.update({ key: 'end', state: 'rejected', text: 'The task names no chat.' });
    return;
  }
  return request.skill === 'ask-person' ? askPerson(deps, task, request) : messagePerson(deps, task, request);
}
