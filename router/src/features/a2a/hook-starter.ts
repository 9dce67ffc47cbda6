import type { DurableTasks } from '../../core/ports/durable-tasks.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { TaskHook, TaskHooks } from './task-hooks.ts';

const MAX_SWEPT = 1_000;

export interface HookStarterDeps {
  hooks: Pick<TaskHooks, 'behind'>;
  tasks: Pick<DurableTasks, 'start'>;
  log: Logger;
}

/** Starts the durable task that sends updates to a hook; again by `sweep`, when a crash came between. Each runs once. */
export class HookStarter {
  readonly #deps: HookStarterDeps;

  constructor(deps: HookStarterDeps) {
    this.#deps = deps;
  }

  /** The hook was set. @throws {StorageUnavailableError} the next sweep starts it */
  async start({ taskId, id, createdAt }: Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>): Promise<void> {
    const name = `push-${taskId}-${createdAt.getTime()}-${id}`;
    await this.#deps.tasks.start('push-updates', name, { taskId, hookId: id });
  }

  /** Starts the hooks whose updates have waited for so long and that nobody has started. Never rejects. */
  async sweep(waitedMs: number): Promise<void> {
    const { hooks, log } = this.#deps;
    try {
      for (const hook of await hooks.behind(waitedMs, MAX_SWEPT)) await this.start(hook);
    } catch (error) {
      log.warn({ err: error }, 'cannot start push notifications, retrying');
    }
  }
}
