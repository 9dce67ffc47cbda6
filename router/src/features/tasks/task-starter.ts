import type { DurableTasks } from '../../core/ports/durable-tasks.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { ServedTask, ServedTasks } from './served-tasks.ts';

const MAX_SWEPT = 1_000;

export interface TaskStarterDeps {
  servedTasks: Pick<ServedTasks, 'waiting'>;
  tasks: Pick<DurableTasks, 'start'>;
  log: Logger;
}

/** Starts the durable task that does a served task; again by `sweep`, when a crash came between. Each runs once. */
export class TaskStarter {
  readonly #deps: TaskStarterDeps;

  constructor(deps: TaskStarterDeps) {
    this.#deps = deps;
  }

  /** The task has got a request. @throws {StorageUnavailableError} the next sweep starts it */
  async start(task: Pick<ServedTask, 'id' | 'messages'>): Promise<void> {
    await this.#start(task.id, task.messages.length);
  }

  /** Starts the tasks that have waited for so long and that nobody has started. Never rejects. */
  async sweep(waitedMs: number): Promise<void> {
    const { servedTasks, log } = this.#deps;
    try {
      for (const { id, round } of await servedTasks.waiting(waitedMs, MAX_SWEPT)) {
        await this.#start(id, round);
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot start tasks, retrying');
    }
  }

  /** A task that got further input is done by a new durable task. */
  async #start(taskId: string, round: number): Promise<void> {
    await this.#deps.tasks.start('serve-task', `served-task-${taskId}-${round}`, { taskId });
  }
}
