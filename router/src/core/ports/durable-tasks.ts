/** The input and the result of each kind of long task; both are stored as JSON and contain no secret. */
interface TaskKinds {
  'delete-account': { input: { accountId: string }; result: { deletedRows: number } };
  /** Follows a task at an agent; `taskId` is that of `RemoteTasks`. */
  'follow-task': { input: { taskId: string }; result: { outcome: string } };
  /** Performs a task of the NPC face that is not short; `taskId` is that of `NpcTasks`. */
  'npc-task': { input: { taskId: string }; result: { outcome: string } };
  /** Does a task for a program; `taskId` is that of `ServedTasks`. */
  'serve-task': { input: { taskId: string }; result: { outcome: string } };
  /** Sends the updates of a served task to one of its hooks. */
  'push-updates': { input: { taskId: string; hookId: string }; result: { outcome: string } };
}

export type TaskKind = keyof TaskKinds;
export type TaskInput<Kind extends TaskKind> = TaskKinds[Kind]['input'];
export type TaskResult<Kind extends TaskKind> = TaskKinds[Kind]['result'];

/** The steps of one running task. */
export interface TaskSteps {
  /**
   * Runs one step and stores its result. When the process dies, the task runs again from its beginning on this node or
   * on another one, and every step that ended returns its stored result instead of running. `work` must be safe to
   * repeat, because a step that a crash interrupted runs again. Errors with disposition `retry` are retried with growing
   * waits; any other error rejects, and so fails the task unless the task catches it.
   * @param name unique within the task and the same in every run
   */
  run<T extends string | number | boolean | null | readonly string[]>(
    name: string,
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Aborts when the process stops. A step that waits long must then reject; it runs again after the next start, or on
   * another node.
   */
  readonly stopping: AbortSignal;
}

/** What runs for each kind of task. It must call its steps in the same order in every run. */
export type TaskFunctions = {
  readonly [Kind in TaskKind]: (steps: TaskSteps, input: TaskInput<Kind>) => Promise<TaskResult<Kind>>;
};

/** `error` is a sentence that an operator can act on. */
export type TaskStatus =
  | { kind: TaskKind; state: 'running' }
  | { kind: TaskKind; state: 'done'; result: TaskResult<TaskKind> }
  | { kind: TaskKind; state: 'failed'; error: string };

/**
 * Long tasks that survive the death of the process.
 * @throws {StorageUnavailableError} from both methods; safe to retry with the same id
 */
export interface DurableTasks {
  /** Resolves when the task is stored; it runs in the background. Idempotent: an id that was used before starts nothing. */
  start<Kind extends TaskKind>(kind: Kind, id: string, input: TaskInput<Kind>): Promise<void>;
  /** Undefined: no task has this id, or it ended longer ago than the retention of workflows. */
  status(id: string): Promise<TaskStatus | undefined>;
}
