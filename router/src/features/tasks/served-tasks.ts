/** As A2A names the states of a task. */
export type ServedState =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected';

const ENDS: ReadonlySet<ServedState> = new Set(['completed', 'failed', 'canceled', 'rejected']);

/** Whether a task in this state never changes again. */
export function isEnd(state: ServedState): boolean {
  return ENDS.has(state);
}

/** What is to be done. `to` is a canonical channelId. */
export type ServedRequest =
  | {
      skill: 'message-person' | 'ask-person';
      accountId: string;
      to: string;
      text: string;
      deadlineMinutes: number;
    }
  | {
      skill: 'talk-to-route';
      accountId: string;
      routeId: string;
      text: string;
      /** The agent's conversation: of one owner and one context. */
      sessionId: string;
    };

/** What the program said. */
export interface CallerMessage {
  /** The program's own id. */
  messageId: string;
  text: string;
  at: Date;
}

/** A result. */
export interface ServedArtifact {
  name: string;
  text?: string;
  data?: Record<string, unknown>;
}

export interface NewUpdate {
  /** Names the update within its task: a repeat stores nothing. */
  key: string;
  state: ServedState;
  /** For the program. */
  text?: string;
  artifact?: ServedArtifact;
}

/** A stored update; `number` counts from 1. */
export interface ServedUpdate extends NewUpdate {
  number: number;
  at: Date;
}

/** A task that wa2ai does for a program. Its state is that of its last update, or `submitted`. */
export interface ServedTask {
  id: string;
  contextId: string;
  owner: string;
  state: ServedState;
  /** Absent: not known yet. */
  request?: ServedRequest;
  /** Oldest first; the first one opened the task. */
  messages: CallerMessage[];
  updates: ServedUpdate[];
  createdAt: Date;
}

export interface NewServedTask {
  id: string;
  contextId: string;
  owner: string;
  request?: ServedRequest;
  message: Omit<CallerMessage, 'at'>;
}

/** Which tasks of an owner; all conditions must match. */
export interface ServedTaskQuery {
  contextId?: string;
  state?: ServedState;
  /** Changed after this time. */
  since?: Date;
  /** Only those that follow this task in the list. */
  after?: string;
  limit: number;
}

/**
 * Tasks that wa2ai does for programs. A task belongs to the caller who opened it.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface ServedTasks {
  /**
   * Opens a task. The same message of the same owner opens no second one: `known`, with the first.
   * @param maxOpen `full`: the owner has so many tasks that have not ended; default: any number. Calls at the same time may exceed it
   */
  open(task: NewServedTask): Promise<{ outcome: 'opened' | 'known'; task: ServedTask }>;
  open(
    task: NewServedTask,
    maxOpen: number | undefined,
  ): Promise<{ outcome: 'opened' | 'known'; task: ServedTask } | { outcome: 'full' }>;
  /** @param owners undefined when the task of any owner is wanted */
  get(id: string, owners?: readonly string[]): Promise<ServedTask | undefined>;
  /** The tasks of these owners, last changed first, with the number of all that match. */
  list(owners: readonly string[], query: ServedTaskQuery): Promise<{ tasks: ServedTask[]; total: number }>;
  /** Stores the next update. @returns false: the task has ended, or has an update with this key */
  update(id: string, update: NewUpdate): Promise<boolean>;
  /** What the program of a task in `input-required` said next. @returns false: the task is in another state */
  resume(id: string, message: Omit<CallerMessage, 'at'>, request: ServedRequest): Promise<boolean>;
  /** The number of the last update of each of these tasks, 0 for none; without those that do not exist. */
  versions(ids: readonly string[]): Promise<Map<string, number>>;
  /** Tasks with a request that are `submitted` for longer than this: perhaps nobody does them. Oldest first. */
  waiting(forMs: number, limit: number): Promise<Array<Pick<ServedTask, 'id'> & { round: number }>>;
}
