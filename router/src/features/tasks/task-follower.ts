import type { DurableTasks } from '../../core/ports/durable-tasks.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { RemoteTasks } from '../../core/ports/remote-tasks.ts';

/** Tasks that one sweep starts to follow; the next one continues. */
const MAX_SWEPT = 1_000;
/** Tasks of which this process knows that they are followed. */
const MAX_KNOWN = 10_000;

export interface TaskFollowerDeps {
  remoteTasks: Pick<RemoteTasks, 'startedBy' | 'unfollowed'>;
  tasks: Pick<DurableTasks, 'start'>;
  log: Logger;
}

/**
 * Starts a durable task for each task at an agent that outlived its turn: at once when the turn ended here, and by `sweep`
 * when a crash came between. Each is followed once, however often it is started.
 */
export class TaskFollower {
  readonly #deps: TaskFollowerDeps;
  readonly #known = new Set<string>();

  constructor(deps: TaskFollowerDeps) {
    this.#deps = deps;
  }

  /** The turn of this message has left a task running. Never rejects: what fails is found by the next sweep. */
  async follow(messageId: string): Promise<void> {
    const { remoteTasks, log } = this.#deps;
    try {
      const taskId = await remoteTasks.startedBy(messageId);
      if (taskId !== undefined) await this.#start(taskId);
    } catch (error) {
      log.warn({ err: error, messageId }, 'cannot follow the task of an agent, retrying');
    }
  }

  /** Follows the tasks that nobody follows yet. Never rejects. */
  async sweep(): Promise<void> {
    const { remoteTasks, log } = this.#deps;
    try {
      const taskIds = await remoteTasks.unfollowed(MAX_SWEPT);
      for (const taskId of taskIds) await this.#start(taskId);
    } catch (error) {
      log.warn({ err: error }, 'cannot read the tasks of agents, retrying');
    }
  }

  async #start(taskId: string): Promise<void> {
    if (this.#known.has(taskId)) return;
    await this.#deps.tasks.start('follow-task', `agent-task-${taskId}`, { taskId });
    this.#known.add(taskId);
    const [oldest] = this.#known;
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}
