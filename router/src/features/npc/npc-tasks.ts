import { NpcError, type NpcErrorBody, RPC } from './json-rpc.ts';

export type NpcTaskStatus = 'pending' | 'processing' | 'completed' | 'failed';

/** What a task ended with. */
export type NpcTaskEnd =
  | { status: 'completed'; result: Record<string, unknown> }
  | { status: 'failed'; error: NpcErrorBody };

/** The end of a task that failed for a reason that its caller cannot change; the log has it. */
export const NOT_PERFORMED = {
  status: 'failed',
  error: new NpcError(RPC.internal, { reason: 'The task could not be performed.' }).body,
} as const satisfies NpcTaskEnd;

/** A task that a caller of the NPC face opened. */
export interface NpcTask {
  taskId: string;
  /** `key:` and the id of the key that opened it, or `admin`. */
  owner: string;
  type: string;
  params: Record<string, unknown>;
  idempotencyKey?: string;
  status: NpcTaskStatus;
  /** Percent, while it is known. */
  progress?: number;
  result?: Record<string, unknown>;
  error?: NpcErrorBody;
  /** Grows with each change, from 1. */
  version: number;
  /** Requests to the agent that were about to be sent. */
  attempts: number;
  createdAtMs: number;
  updatedAtMs: number;
}

export function hasEnded({ status }: Pick<NpcTask, 'status'>): boolean {
  return status === 'completed' || status === 'failed';
}

/** Usual time of a task in milliseconds, for `estimatedDuration`. */
export function estimatedMs(type: string): number {
  return ['emotion', 'memory', 'trade'].includes(type) ? 1_000 : 30_000;
}

/** The peer of a task: its owner, or the one of the owner's peers that the parameters name. */
export function peerOf({ owner, params }: Pick<NpcTask, 'owner' | 'params'>): string {
  return typeof params.peer === 'string' ? `${owner}/${params.peer}` : owner;
}

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
