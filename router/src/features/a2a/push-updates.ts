import { isRetryable, Wa2aiError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/ports/durable-tasks.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { backoffMs } from '../../core/retry.ts';
import { isEnd, type ServedTask, type ServedUpdate } from '../tasks/served-tasks.ts';
import type { TaskFeed, TaskWatch } from '../tasks/task-feed.ts';
import type { TaskHook, TaskHooks } from './task-hooks.ts';

/** A receiver that takes nothing for so long gets nothing more. */
const MAX_AWAY_MS = 86_400_000;
const MAX_WAIT_MS = 600_000;

/** What is sent by one request. An update with a result has two parts, the result first. */
export type UpdatePart = 'artifact' | 'state';

export interface PushUpdatesDeps {
  hooks: Pick<TaskHooks, 'get' | 'markSent' | 'delete'>;
  feed: Pick<TaskFeed, 'watch'>;
  /**
   * Sends a part of an update to its receiver. @throws {Wa2aiError} it was not taken; with the disposition `dead` no repeat
   * helps
   */
  send(
    hook: TaskHook,
    task: ServedTask,
    update: ServedUpdate,
    part: UpdatePart,
    signal: AbortSignal,
  ): Promise<void>;
  /** Whether the owner of a task may still see it: false when its key was revoked. @throws {StorageUnavailableError} */
  mayReceive(owner: string): Promise<boolean>;
  clock: Clock;
  /** Uniform in [0, 1). */
  random(): number;
  log: Logger;
}

/**
 * Sends the updates of a task to a hook, in order, until the task has ended. One durable step: after a crash it continues
 * with the first update that is not marked as sent, so a receiver may get one update twice.
 */
export async function pushUpdates(
  deps: PushUpdatesDeps,
  steps: TaskSteps,
  { taskId, hookId }: TaskInput<'push-updates'>,
): Promise<TaskResult<'push-updates'>> {
  const outcome = await steps.run('push', async () => {
    const watch = deps.feed.watch(taskId);
    try {
      return await pushUntilEnd(deps, watch, { taskId, hookId }, steps.stopping);
    } finally {
      watch.close();
    }
  });
  return { outcome };
}

/** Waits as long as the receiver or the database does not answer. @throws the reason of `stopping` */
async function pushUntilEnd(
  deps: PushUpdatesDeps,
  watch: TaskWatch,
  { taskId, hookId }: TaskInput<'push-updates'>,
  stopping: AbortSignal,
): Promise<string> {
  const { hooks, clock, log } = deps;
  let awaySinceMs: number | undefined;
  /** Parts of the next update that the receiver has got. */
  let partsSent = 0;
  for (let failures = 0; ; ) {
    stopping.throwIfAborted();
    try {
      const hook = await hooks.get(taskId, hookId);
      if (!hook) return 'deleted';
      const task = await watch.next(hook.sent, stopping);
      const update = task?.updates[hook.sent];
      if (!task || !update) return 'gone';
      if (!(await deps.mayReceive(task.owner))) {
        await hooks.delete(taskId, hookId);
        return 'revoked';
      }
      for (const part of partsOf(update).slice(partsSent)) {
        await deps.send(hook, task, update, part, stopping);
        partsSent += 1;
      }
      await hooks.markSent(taskId, hookId, update.number);
      partsSent = 0;
      if (isEnd(update.state)) return 'completed';
      failures = 0;
      awaySinceMs = undefined;
    } catch (error) {
      stopping.throwIfAborted();
      failures += 1;
      awaySinceMs ??= clock.monotonicMs();
      const isDead = error instanceof Wa2aiError && !isRetryable(error) && error.disposition === 'dead';
      const isTooLong = clock.monotonicMs() - awaySinceMs > MAX_AWAY_MS;
      log.warn({ err: error, task: taskId, hook: hookId, attempt: failures }, 'update of a task not pushed');
      if (isDead || isTooLong) {
        await hooks.delete(taskId, hookId);
        return 'given up';
      }
      await clock.sleep(
        backoffMs({ attempt: failures, baseMs: 1_000, maxMs: MAX_WAIT_MS, random: deps.random }),
        stopping,
      );
    }
  }
}

function partsOf({ artifact }: ServedUpdate): UpdatePart[] {
  return artifact ? ['artifact', 'state'] : ['state'];
}
