import { NpcError, type NpcErrorBody, RPC } from './npc-error.ts';

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
