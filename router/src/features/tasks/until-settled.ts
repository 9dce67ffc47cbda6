import type { Clock } from '../../core/ports/clock.ts';
import { withLimit } from '../../core/time-limit.ts';
import { isEnd, type ServedTask } from './served-tasks.ts';
import type { TaskFeed } from './task-feed.ts';

/** Whether a task has ended or waits for input of its program. */
export function isSettled({ state }: ServedTask): boolean {
  return isEnd(state) || state === 'input-required';
}

/**
 * Waits until a task is settled, at most so long, and until the signal aborts.
 * @param limitMs 0: does not wait
 * @param onChange called with the task after each of its updates
 * @returns the task as it is then
 * @throws {StorageUnavailableError} it cannot be read
 */
export async function untilSettled(
  { feed, clock }: { feed: Pick<TaskFeed, 'watch'>; clock: Clock },
  task: ServedTask,
  limitMs: number,
  signal: AbortSignal,
  onChange: (task: ServedTask) => void = () => undefined,
): Promise<ServedTask> {
  if (limitMs === 0 || isSettled(task)) return task;
  const watch = feed.watch(task.id);
  let current = task;
  try {
    return await withLimit(clock, limitMs, signal, async (limited) => {
      try {
        while (!isSettled(current)) {
          const next = await watch.next(current.updates.length, limited);
          if (!next) return current;
          current = next;
          onChange(current);
        }
        return current;
      } catch (error) {
        if (limited.aborted) return current;
        throw error;
      }
    });
  } finally {
    watch.close();
  }
}
