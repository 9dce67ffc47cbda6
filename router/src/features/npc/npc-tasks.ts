import type { NpcTask, NpcTaskEnd, NpcTaskStatus } from './npc-task.ts';

export type NewNpcTask = Pick<NpcTask, 'taskId' | 'owner' | 'type' | 'params' | 'idempotencyKey'>;

/** Which tasks of their owners. */
export interface NpcTaskQuery {
  type?: string;
  status?: NpcTaskStatus;
  /** `next` of the page before. */
  before?: string;
  /** From 1. */
  limit: number;
}

/** A page of tasks, newest first; `total` counts all pages. */
export interface NpcTaskPage {
  tasks: NpcTask[];
  total: number;
  next?: string;
}

/**
 * Tasks that callers of the NPC face opened.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcTasks {
  /**
   * Stores a task in status `pending`. An idempotency key that its owner used before stores nothing.
   * @returns `known` with the first task, `conflict` when that one has another type or other parameters
   */
  open(task: NewNpcTask): Promise<{ outcome: 'opened' | 'known' | 'conflict'; task: NpcTask }>;
  find(taskId: string): Promise<NpcTask | undefined>;
  /** Those of these tasks that exist, in any order. */
  findAll(taskIds: readonly string[]): Promise<NpcTask[]>;
  list(owners: readonly string[], query: NpcTaskQuery): Promise<NpcTaskPage>;
  /** Sets `processing`. @returns false: the task has ended, or does not exist */
  begin(taskId: string): Promise<boolean>;
  /** Sets the progress of a running task, in percent. A smaller one than before changes nothing. */
  progress(taskId: string, percent: number): Promise<void>;
  /** Counts a request to the agent. */
  countAttempt(taskId: string): Promise<void>;
  /** Ends a task, once: a task that has ended is not changed. @returns whether this call ended it */
  finish(taskId: string, end: NpcTaskEnd): Promise<boolean>;
  /** Tasks that were opened so long ago and are `pending`, oldest first. */
  notBegun(olderThanMs: number, limit: number): Promise<NpcTask[]>;
}
