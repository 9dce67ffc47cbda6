import { z } from 'zod';
import {
  allowedRoutes,
  type Caller,
  type CallerAdmission,
  mayDo,
  mayUseAccount,
  mayUseChat,
  RESTRICTIONS,
  taskOwnerOf,
  taskOwnersOf,
} from '../../core/access/caller.ts';
import type { App } from '../../feature.ts';
import { admit, maxOpenTasksOf, TOO_MANY_TASKS } from '../../infra/operations/guard.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';
import { invalidParam, NpcError, RPC, type RpcCall } from './json-rpc.ts';
import type { NpcServerSettings } from './npc-chain.ts';
import { listedView, taskView } from './npc-task-feed.ts';
import { estimatedMs, type NpcTask } from './npc-tasks.ts';
import { checkedTask, openNpcTask } from './open-npc-task.ts';
import { isShortTask } from './short-tasks.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 200;

/** Who calls, and the `Idempotency-Key` of the request. */
interface NpcCallContext {
  caller: Caller;
  idempotencyKey?: string;
}

/** Who owns the tasks that a caller opens. */
export function ownerOf(caller: Caller): string {
  return caller.kind === 'key' ? `key:${caller.key.id}` : taskOwnerOf(caller);
}

/** Whose tasks a caller sees. */
export function ownersOf(caller: Caller): readonly string[] {
  return caller.kind === 'key' ? [ownerOf(caller)] : taskOwnersOf(caller);
}

type Params = Record<string, unknown>;

/** A method of the specification, with whom it lets in. */
type NpcMethod = CallerAdmission & {
  call(app: App, params: Params, context: NpcCallContext, index: number): Promise<Params>;
};

const METHODS: ReadonlyMap<string, NpcMethod> = new Map([
  ['task.open', { scopes: ['tasks'], honours: RESTRICTIONS, call: openTask }],
  // Of the caller's own tasks.
  ['task.status', { scopes: ['tasks'], honours: RESTRICTIONS, call: showTask }],
  ['task.list', { scopes: ['tasks'], honours: RESTRICTIONS, call: listTasks }],
] as const);

/**
 * Performs a call of a method of the specification.
 * @throws {NpcError} with a field and a reason
 * @throws {StorageUnavailableError}
 */
export async function callNpcMethod(
  app: App,
  { method, params, index }: RpcCall,
  context: NpcCallContext,
): Promise<Params> {
  const known = METHODS.get(method);
  if (!known) {
    const reason = `The methods are ${[...METHODS.keys()].join(', ')}.`;
    throw new NpcError(RPC.methodNotFound, { field: 'method', reason });
  }
  try {
    admit(context.caller, known);
  } catch (error) {
    if (!(error instanceof HttpProblem)) throw error;
    throw new NpcError(RPC.authentication, { field: 'X-API-Key', reason: error.message });
  }
  return await known.call(app, params, context, index);
}

const openParams = z.object({
  type: z.string({ error: 'type must be a capability of the card.' }).min(1).max(200),
  params: z
    .record(z.string(), z.unknown(), { error: 'params must be an object.' })
    .optional()
    .transform((params) => params ?? {}),
});

async function openTask(
  app: App,
  given: Params,
  { caller, idempotencyKey }: NpcCallContext,
  index: number,
): Promise<Params> {
  const settings = await app.npcSettings();
  const task = checkedTask(settings, parsed(openParams, given));
  await refuseNotAllowed(app, caller, settings, task);
  await refuseTooMany(app, caller, task);
  const opened = await openNpcTask(app, {
    ...task,
    owner: ownerOf(caller),
    // The calls of a batch share its header; the same batch again opens nothing new.
    ...(idempotencyKey !== undefined && {
      idempotencyKey: index === 0 ? idempotencyKey : `${idempotencyKey} ${index}`,
    }),
  });
  const { taskId, status, type } = opened;
  return { taskId, status, estimatedDuration: estimatedMs(type) };
}

/** A task that waits for an agent, a person or a chain takes long; the others end within the call. @throws {NpcError} -32002 */
async function refuseTooMany(
  { npcTasks }: App,
  caller: Caller,
  { type, params }: Pick<NpcTask, 'type' | 'params'>,
): Promise<void> {
  const maxOpen = maxOpenTasksOf(caller);
  if (maxOpen === undefined || isShortTask({ type, params })) return;
  const counted = (status: NpcTask['status']) => npcTasks.list([ownerOf(caller)], { status, limit: 1 });
  const [pending, processing] = await Promise.all([counted('pending'), counted('processing')]);
  if (pending.total + processing.total < maxOpen) return;
  throw new NpcError(RPC.rateLimit, { reason: TOO_MANY_TASKS });
}

/** A key may be restricted to some routes and chats, and needs a scope to send messages. */
async function refuseNotAllowed(
  { routes, aliasesOf }: App,
  caller: Caller,
  { routeId }: NpcServerSettings,
  { type, params }: Pick<NpcTask, 'type' | 'params'>,
): Promise<void> {
  const asksAgent = type === 'social' || type.startsWith('custom:');
  if (!asksAgent || routeId === undefined) return;
  const route = await routes.get(routeId);
  const accountId = route?.accountId ?? '';
  const isAllowed = allowedRoutes(caller)?.includes(routeId) ?? true;
  if (!isAllowed || !mayUseAccount(caller, accountId)) {
    throw new NpcError(RPC.authentication, {
      field: 'type',
      reason: 'The key may not use the agent of this NPC.',
    });
  }
  if (type !== 'social' || typeof params.to !== 'string') return;
  if (!mayDo(caller, 'messages:send')) {
    throw new NpcError(RPC.authentication, { field: 'to', reason: 'The key lacks the scope messages:send.' });
  }
  const chat = { accountId, channelId: params.to };
  if (!(await mayUseChat(caller, chat, aliasesOf))) {
    throw new NpcError(RPC.authentication, { field: 'to', reason: 'The key may not use this chat.' });
  }
}

const statusParams = z.object({
  taskId: z.string({ error: 'taskId must be the id of a task.' }).min(1).max(200),
});

async function showTask({ npcTasks }: App, given: Params, { caller }: NpcCallContext): Promise<Params> {
  const { taskId } = parsed(statusParams, given);
  const task = await npcTasks.find(taskId);
  // The task of another caller is none.
  if (!task || !ownersOf(caller).includes(task.owner))
    throw invalidParam('taskId', 'There is no task with this id.');
  return taskView(task);
}

const listParams = z.object({
  limit: z
    .int({ error: `limit must be a whole number from 1 to ${MAX_PAGE}.` })
    .min(1)
    .max(MAX_PAGE)
    .default(DEFAULT_PAGE),
  cursor: z
    .string({ error: 'cursor must be nextCursor of the page before.' })
    .regex(/^[1-9]\d{0,17}$/, 'cursor must be nextCursor of the page before.')
    .optional(),
  type: z.string({ error: 'type must be a text.' }).max(200).optional(),
  status: z
    .enum(['pending', 'processing', 'completed', 'failed'], {
      error: 'status must be pending, processing, completed or failed.',
    })
    .optional(),
});

async function listTasks({ npcTasks }: App, given: Params, { caller }: NpcCallContext): Promise<Params> {
  const { limit, cursor, type, status } = parsed(listParams, given);
  const page = await npcTasks.list(ownersOf(caller), {
    limit,
    ...(cursor !== undefined && { before: cursor }),
    ...(type !== undefined && { type }),
    ...(status && { status }),
  });
  return {
    tasks: page.tasks.map(listedView),
    totalTasks: page.total,
    ...(page.next !== undefined && { nextCursor: page.next }),
  };
}

/** @throws {NpcError} -32602 with the first mistake */
function parsed<T>(schema: z.ZodType<T>, params: Params): T {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.map(String).join('.') || 'params';
  throw invalidParam(field, issue?.message ?? 'is not accepted');
}
