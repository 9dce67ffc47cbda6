import type { Request } from 'express';
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
import { Wa2aiError } from '../../core/errors.ts';
import { LogThrottle } from '../../core/logger.ts';
import { say } from '../../core/phrases.ts';
import type { ApiKey } from '../../core/ports/api-key-store.ts';
import { type AuditEvent, auditedCaller } from '../../core/ports/audit-log.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { findUnstorable } from '../../infra/operations/form.ts';
import {
  admit,
  connectionOf,
  limitHeaders,
  MAX_PUBLIC_BODY_BYTES,
  maxOpenTasksOf,
  retryAfterSeconds,
  TOO_MANY_TASKS,
} from '../../infra/operations/guard.ts';
import { baseUrlOf } from '../../infra/operations/mount.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { type ApiResponse, type RefusedCall, requestOf } from '../../infra/operations/response.ts';
import { answerRpc, invalidParam, NpcError, RPC, type RpcCall, readBody } from './json-rpc.ts';
import { capabilitiesOf, type NpcServerSettings } from './npc-chain.ts';
import { listedView, streamTask, taskView } from './npc-task-feed.ts';
import { estimatedMs, type NpcTask } from './npc-tasks.ts';
import { checkedTask, openNpcTask } from './open-npc-task.ts';
import { isShortTask } from './short-tasks.ts';

/** Streams of one node; the server accepts more connections, which are for other calls. */
const MAX_STREAMS = 1_500;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;

/** wa2ai as an agent of the NPC Engine: its card, JSON-RPC, and the events of tasks. */
export function npcServer(app: App): Endpoint[] {
  const { npcSettings, npcTasks, npcFeed, keyWatch } = app;
  const audit = new NpcAudit(app);
  const common = { tag: 'Agents' };
  const off = { description: 'The NPC server is off.', schema: problemSchema };

  const refuseOff = async () => {
    const current = await npcSettings();
    if (!current.enabled) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-path'));
    return current;
  };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/.well-known/agent-card',
      operationId: 'getNpcCard',
      scopes: 'public',
      summary: 'The agent card of the NPC Engine',
      description: 'Needs no key. `PUT /api/settings/npc` changes it.',
      responses: {
        200: { description: 'The card.', schema: z.record(z.string(), z.unknown()) },
        404: off,
      },
      handle: async (call) => {
        const current = await refuseOff();
        return {
          status: 200,
          json: npcCard(current, current.url ?? baseUrlOf(requestOf(call), app.config.publicUrl)),
        };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/rpc',
      operationId: 'callNpc',
      takesBatches: true,
      scopes: ['tasks'],
      honours: RESTRICTIONS,
      summary: 'Call the NPC: JSON-RPC 2.0 with task.open, task.status and task.list',
      description:
        'One call, or a batch of at most 50. Errors of a call, a missing key (-32001) and limits (-32002) are errors of JSON-RPC with status 200.',
      headers: {
        'idempotency-key':
          'Makes a repeat of task.open safe: the same key returns the first task and opens nothing.',
      },
      responses: {
        200: { description: 'The response, or those of a batch.', schema: z.unknown() },
        204: { description: 'The body had notifications only.' },
        404: off,
      },
      handle: async (call) => {
        await refuseOff();
        return await answer(app, audit, { request: requestOf(call), caller: call.caller });
      },
      refuse: async (call) => {
        await refuseOff();
        return await answer(app, audit, call);
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/stream/{taskId}',
      operationId: 'streamNpcTask',
      scopes: ['tasks'],
      honours: RESTRICTIONS,
      summary: 'Events of a task: task.update, then task.completed or task.failed',
      description: 'Ends with the task, and when the key is revoked or expires.',
      params: { taskId: 'Id of a task of the caller.' },
      headers: { 'last-event-id': 'Id of the last event that the reader has: older ones are left out.' },
      responses: {
        200: {
          description: 'The events, with heartbeats.',
          contentType: 'text/event-stream',
          schema: z.string(),
        },
        404: { description: 'The caller has no such task, or the NPC server is off.', schema: problemSchema },
        503: { description: `The node has ${MAX_STREAMS} streams.`, schema: problemSchema },
      },
      handle: async ({ params: { taskId = '' }, header, caller }) => {
        await refuseOff();
        if (npcFeed.watched >= MAX_STREAMS) {
          throw new HttpProblem(503, 'TOO_MANY_STREAMS', {
            sentence: 'This node has too many streams. Call task.status instead.',
          });
        }
        const task = await npcTasks.find(taskId);
        if (!task || !ownersOf(caller).includes(task.owner)) {
          throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-task'));
        }
        const last = header('last-event-id') ?? '';
        const lastVersion = /^\d{1,9}$/.test(last) ? Number(last) : 0;
        return {
          status: 200,
          object: taskId,
          stream: (response) => {
            const end = streamTask(response, { task, lastVersion, feed: npcFeed });
            response.on('close', keyWatch.watch(caller, end));
          },
        };
      },
    }),
  ];
}

/** @param call.problem why its caller is refused: every entry of the body gets it as its error */
async function answer(
  app: App,
  audit: NpcAudit,
  { request, caller, problem }: Omit<RefusedCall, 'problem'> & { problem?: HttpProblem },
): Promise<ApiResponse> {
  const { limiter, log } = app;
  let headers: Record<string, string> = {};
  const key = request.get('idempotency-key');
  const admit = async () => {
    if (caller.kind === 'key') await count(caller.key);
    if (problem) {
      throw new NpcError(RPC.authentication, { field: 'X-API-Key', reason: problem.message });
    }
  };
  const count = async (apiKey: ApiKey) => {
    const result = await limiter.count(apiKey.id, apiKey.limits);
    headers = limitHeaders(apiKey.limits, result);
    if (!result.isAllowed) {
      const retryAfter = retryAfterSeconds(result);
      headers['retry-after'] = String(retryAfter);
      const reason = `The key has used its requests. Try again in ${retryAfter} s.`;
      throw new NpcError(RPC.rateLimit, { reason, retryAfter });
    }
  };
  const maxBytes = caller.kind === 'stranger' ? MAX_PUBLIC_BODY_BYTES : undefined;
  const body = await readBody(request, maxBytes).catch(async (error: unknown) => {
    await audit.record(request, { method: '', caller, error });
    throw error;
  });
  const response = await answerRpc(body, {
    admit,
    call: async (call) => {
      if (key !== undefined && !IDEMPOTENCY_KEY.test(key)) throw badKey();
      const unstorable = findUnstorable(call.params);
      if (unstorable)
        throw invalidParam(
          unstorable.field || 'params',
          `${unstorable.field || 'params'} ${unstorable.message}.`,
        );
      return await callNpcMethod(app, call, { caller, ...(key !== undefined && { idempotencyKey: key }) });
    },
    onEnd: (end) => audit.record(request, { ...end, caller }),
    onFault: (error, method) => log.error({ err: error, method }, 'npc call failed'),
  });
  return response === undefined ? { status: 204, headers } : { status: 200, headers, json: response };
}

function badKey(): NpcError {
  const reason = 'must be 1 to 200 printable ASCII characters without spaces.';
  return new NpcError(RPC.invalidParams, { field: 'Idempotency-Key', reason });
}

/** Version of the agent card specification that wa2ai speaks. */
const PROTOCOL_VERSION = '1.0.0';

/**
 * The agent card as the specification of the NPC Engine defines it: only what is configured.
 * @param baseUrl where callers reach wa2ai, without a slash at its end
 */
export function npcCard(settings: NpcServerSettings, baseUrl: string): Record<string, unknown> {
  const { name, description, metadata, chain } = settings;
  return {
    version: PROTOCOL_VERSION,
    id: idOf(name),
    name,
    description: description ?? `${name}, an agent of wa2ai`,
    capabilities: capabilitiesOf(settings),
    transports: [
      { type: 'http', url: `${baseUrl}/rpc`, methods: ['POST'] },
      { type: 'sse', url: `${baseUrl}/stream/{taskId}`, methods: ['GET'] },
    ],
    authentication: { type: 'api-key', header: 'X-API-Key' },
    metadata: {
      protocolVersions: [PROTOCOL_VERSION],
      ...(chain && { chainId: chain.chainId, contracts: chain.contracts }),
      ...metadata,
    },
  };
}

/** `Old Guard` → `old-guard`. */
function idOf(name: string): string {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu);
  return words?.join('-') ?? 'npc';
}

const MAX_ACTION_CHARS = 100;
const MAX_OBJECT_CHARS = 200;

/** One call of JSON-RPC. */
interface AuditedCall {
  method: string;
  caller: Caller;
  /** The task. */
  taskId?: string;
  /** Absent: it succeeded. */
  error?: unknown;
}

/**
 * Records the calls of the NPC server, each entry of a batch for itself. Refusals that cost a caller nothing are recorded 1, 2,
 * 4, 8 ..., so that they cannot fill the log.
 */
export class NpcAudit {
  readonly #app: App;
  readonly #throttle = new LogThrottle();

  constructor(app: App) {
    this.#app = app;
  }

  /** A task that was opened is recorded when this resolves. Never rejects. */
  async record(request: Request, { method, caller, taskId, error }: AuditedCall): Promise<void> {
    const { address } = connectionOf(request);
    const outcome = outcomeOf(error);
    const isRefused =
      error instanceof NpcError &&
      [RPC.authentication, RPC.rateLimit].some((code) => code === error.body.code);
    const by = caller.kind === 'key' ? caller.key.id : address;
    if (isRefused && this.#throttle.count(`${outcome} ${by}`) === undefined) return;
    const event: AuditEvent = {
      at: new Date(this.#app.clock.now()),
      face: 'npc',
      ...auditedCaller(caller),
      action: method.slice(0, MAX_ACTION_CHARS) || 'unknown',
      ...(taskId !== undefined && { object: taskId.slice(0, MAX_OBJECT_CHARS) }),
      outcome,
      requestId: String(request.res?.locals.requestId ?? ''),
      address,
    };
    if (method === 'task.open' && error === undefined) await this.#app.recorder.recordChange(event);
    else this.#app.recorder.recordRead(event);
  }
}

/** `ok`, `RPC-32602`, or the code of the error. */
function outcomeOf(error: unknown): string {
  if (error === undefined) return 'ok';
  if (error instanceof NpcError) return `RPC${error.body.code}`;
  return error instanceof Wa2aiError ? error.code : `RPC${RPC.internal}`;
}

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
