import { estimatedMs, hasEnded, type NpcTask } from './npc-task.ts';

/** A task as `task.status`, events and, without its end, `task.list` show it. Times are epoch milliseconds. */
export function taskView(task: NpcTask): Record<string, unknown> {
  const { taskId, type, status, progress, result, error, createdAtMs, updatedAtMs } = task;
  return {
    taskId,
    type,
    status,
    ...(progress !== undefined && { progress }),
    ...(result && { result }),
    ...(error && { error }),
    createdAt: createdAtMs,
    updatedAt: updatedAtMs,
    ...(!hasEnded(task) && { estimatedDuration: estimatedMs(type) }),
  };
}

/** An entry of `task.list`. A caller finds its own task by the key that it opened it with. */
export function listedView({ idempotencyKey, ...task }: NpcTask): Record<string, unknown> {
  const { result: _result, error: _error, estimatedDuration: _estimate, ...view } = taskView(task);
  return { ...view, ...(idempotencyKey !== undefined && { idempotencyKey }) };
}

/** An event of a task: `task.update` while it runs, then `task.completed` or `task.failed`. Its id is the task's version. */
export function taskEvent(task: NpcTask): string {
  const name = hasEnded(task) ? `task.${task.status}` : 'task.update';
  return `id: ${task.version}\nevent: ${name}\ndata: ${JSON.stringify(taskView(task))}\n\n`;
}
