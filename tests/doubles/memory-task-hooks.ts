import type { NewTaskHook, TaskHook, TaskHooks } from '../../router/src/features/a2a/task-hooks.ts';
import type { MemoryServedTasks } from './memory-served-tasks.ts';

/** Hooks of served tasks in memory. */
export class MemoryTaskHooks implements TaskHooks {
  readonly #tasks: MemoryServedTasks;
  readonly #hooks = new Map<string, TaskHook>();

  constructor(tasks: MemoryServedTasks) {
    this.#tasks = tasks;
  }

  async put(hook: NewTaskHook): Promise<TaskHook> {
    const key = keyOf(hook.taskId, hook.id);
    const { sent = 0, createdAt = new Date() } = this.#hooks.get(key) ?? {};
    const stored = { ...structuredClone(hook), sent, createdAt };
    this.#hooks.set(key, stored);
    return structuredClone(stored);
  }

  async get(taskId: string, id: string): Promise<TaskHook | undefined> {
    return structuredClone(this.#hooks.get(keyOf(taskId, id)));
  }

  async list(taskId: string): Promise<TaskHook[]> {
    const hooks = [...this.#hooks.values()].filter((hook) => hook.taskId === taskId);
    return structuredClone(hooks.sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  async delete(taskId: string, id: string): Promise<boolean> {
    return this.#hooks.delete(keyOf(taskId, id));
  }

  async markSent(taskId: string, id: string, number: number): Promise<void> {
    const hook = this.#hooks.get(keyOf(taskId, id));
    if (hook) hook.sent = Math.max(hook.sent, number);
  }

  async behind(forMs: number, limit: number): Promise<Array<Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>>> {
    const found: Array<Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>> = [];
    for (const { taskId, id, sent, createdAt } of this.#hooks.values()) {
      const last = (await this.#tasks.get(taskId))?.updates.at(-1);
      if (last && last.number > sent && Date.now() - last.at.getTime() > forMs)
        found.push({ taskId, id, createdAt });
    }
    return found.slice(0, limit);
  }
}

function keyOf(taskId: string, id: string): string {
  return JSON.stringify([taskId, id]);
}
