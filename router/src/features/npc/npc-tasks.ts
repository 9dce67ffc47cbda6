import {
  type Capability,
  type CapabilityParam,
  STANDARD_CAPABILITIES,
} from '../../infra/agents/npc/input/capabilities.ts';
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

/** A task that a caller of the NPC server opened. */
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
 * Tasks that callers of the NPC server opened.
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

/** Who a task concerns, when the caller acts for several: a name of the caller's choice. */
const peer: CapabilityParam = { name: 'peer', type: 'text', isOptional: true, shown: 'PEER', example: 'ana' };
const offerId: CapabilityParam = { name: 'offerId', type: 'text', shown: 'OFFER', example: '12' };

/** What a task of a capability does: the one that the specification describes, or another one of wa2ai. */
interface Action {
  /** Value of the parameter `action`; absent: the one of the specification. */
  action?: string;
  params: readonly CapabilityParam[];
}

const standard = (type: string): readonly CapabilityParam[] =>
  STANDARD_CAPABILITIES.find((capability) => capability.type === type)?.params ?? [];

/**
 * The tasks of each standard capability. Beside the one of the specification there are tasks that read and end what it made;
 * the parameter `action` chooses them.
 */
const ACTIONS: Readonly<Record<string, readonly [Action, ...Action[]]>> = {
  duel: [{ params: standard('duel') }, { action: 'list', params: [] }],
  quest: [{ params: standard('quest') }, { action: 'list', params: [] }],
  social: [
    {
      params: [
        ...standard('social'),
        { name: 'to', type: 'text', isOptional: true, shown: 'TO', example: '5493777239922' },
        peer,
      ],
    },
  ],
  emotion: [{ params: [...standard('emotion'), peer] }, { action: 'show', params: [peer] }],
  memory: [
    { params: [...standard('memory'), peer] },
    {
      action: 'recall',
      params: [
        { name: 'query', type: 'text', isOptional: true, shown: 'QUERY', example: 'gate' },
        {
          name: 'limit',
          type: { integer: true, min: 1, max: 50 },
          isOptional: true,
          shown: 'LIMIT',
          example: '5',
        },
        peer,
      ],
    },
    { action: 'forget', params: [{ name: 'memoryId', type: 'text', shown: 'MEMORY', example: '7' }, peer] },
  ],
  trade: [
    {
      params: [
        ...standard('trade'),
        {
          name: 'direction',
          type: { oneOf: ['sell', 'buy'] },
          isOptional: true,
          shown: 'DIRECTION',
          example: 'sell',
        },
        {
          name: 'expiresIn',
          type: { integer: true, min: 1, max: 2_592_000 },
          isOptional: true,
          shown: 'SECONDS',
          example: '86400',
        },
        peer,
      ],
    },
    { action: 'accept', params: [offerId, peer] },
    { action: 'decline', params: [offerId, peer] },
    { action: 'list', params: [peer] },
  ],
};

/** The names that the parameter `action` may have, for an error. */
export function actionNames(type: string): string[] {
  return (ACTIONS[type] ?? []).flatMap(({ action }) => action ?? []);
}

/**
 * The parameters that a task with these parameters takes; undefined: there is no such action. `action` of `social` is free
 * text of the specification.
 */
export function actionOf(type: string, params: Readonly<Record<string, unknown>>): Capability | undefined {
  const actions = ACTIONS[type];
  if (!actions) return { type, summary: '', params: [peer] };
  const named = type === 'social' ? undefined : (params.action ?? undefined);
  const found = actions.find(({ action }) => action === named);
  return found && { type, summary: '', params: found.params };
}
