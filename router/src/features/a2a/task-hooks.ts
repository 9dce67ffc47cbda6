/** Where the updates of a served task are sent. */
export interface NewTaskHook {
  taskId: string;
  /** Of the program, or made for it; unique within the task. */
  id: string;
  url: string;
  /** Sent with each update, so that the receiver recognizes its task: a secret. */
  token?: string;
  /** Of the receiver, as `Authorization: <scheme> <credentials>`: a secret. */
  authentication?: { scheme: string; credentials: string };
  /** The version of A2A that the program speaks. */
  version: '1.0' | '0.3';
}

/** A stored hook; `sent` is the number of the last update that the receiver has got. */
export interface TaskHook extends NewTaskHook {
  sent: number;
  /** A hook that is deleted and set again has another time. */
  createdAt: Date;
}

/**
 * Hooks of served tasks; they go with their task.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface TaskHooks {
  /** The same id replaces the hook; what was sent stays sent. */
  put(hook: NewTaskHook): Promise<TaskHook>;
  get(taskId: string, id: string): Promise<TaskHook | undefined>;
  /** By id. */
  list(taskId: string): Promise<TaskHook[]>;
  /** @returns whether there was one */
  delete(taskId: string, id: string): Promise<boolean>;
  /** The number of sent updates never falls. */
  markSent(taskId: string, id: string, number: number): Promise<void>;
  /** Hooks that have not got all updates for longer than this: perhaps nobody sends them. Oldest first. */
  behind(forMs: number, limit: number): Promise<Array<Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>>>;
}
