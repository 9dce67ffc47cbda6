import type {
  DurableTasks,
  TaskFunctions,
  TaskKind,
  TaskResult,
  TaskStart,
  TaskStatus,
  TaskSteps,
} from '../../router/src/core/tasks.ts';
import { DirectSteps } from './direct-steps.ts';

/** Durable tasks in memory, with the promises of the engine except durability. */
export class MemoryDurableTasks implements DurableTasks {
  readonly #functions: Partial<TaskFunctions>;
  readonly #tasks = new Map<string, { status: TaskStatus; ended: Promise<void> }>();

  /** @param functions only the kinds that the test uses */
  constructor(functions: Partial<TaskFunctions>) {
    this.#functions = functions;
  }

  async start({ kind, id, input }: TaskStart): Promise<void> {
    if (this.#tasks.has(id)) return;
    const run = this.#functions[kind] as
      | ((steps: TaskSteps, input: TaskStart['input']) => Promise<TaskResult<TaskKind>>)
      | undefined;
    if (!run) throw new TypeError(`the test has no function for ${kind}`);
    const task = { status: { kind, state: 'running' } as TaskStatus, ended: Promise.resolve() };
    this.#tasks.set(id, task);
    task.ended = run(new DirectSteps(), input).then(
      (result) => {
        task.status = { kind, state: 'done', result };
      },
      (error: unknown) => {
        task.status = {
          kind,
          state: 'failed',
          error: error instanceof Error ? error.message : String(error),
        };
      },
    );
  }

  async status(id: string): Promise<TaskStatus | undefined> {
    return this.#tasks.get(id)?.status;
  }

  /** Resolves when the task with this id has ended. */
  async ended(id: string): Promise<void> {
    await this.#tasks.get(id)?.ended;
  }
}
