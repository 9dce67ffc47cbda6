import { z } from 'zod';
import { type Clock, withLimit } from '../../../../core/clock.ts';
import { AgentProtocolError, AgentUnavailableError, type Wa2aiError } from '../../../../core/errors.ts';
import { say } from '../../../../core/phrases.ts';
import {
  type AgentTransport,
  exchangeError,
  type Redact,
  retryAfterMs,
} from '../../transport/agent-transport.ts';
import { bodyJson, errorText } from '../../transport/error-text.ts';
import type { NpcServer } from '../card/npc-card.ts';

const MAX_ID_CHARS = 200;

const id = z
  .union([z.string().min(1).max(MAX_ID_CHARS), z.int()])
  .transform(String)
  .refine((text) => /^[^\p{Cc}]+$/u.test(text));

/** An error of JSON-RPC, or of a task that failed. */
const rpcErrorSchema = z.looseObject({
  code: z.number().nullish(),
  message: z.string().nullish(),
  data: z.unknown().optional(),
});

const taskSchema = z.looseObject({
  taskId: id,
  status: z.string(),
  type: z.string().nullish(),
  progress: z.number().nullish(),
  result: z.unknown().optional(),
  error: z.union([rpcErrorSchema, z.string()]).nullish(),
  createdAt: z.union([z.number(), z.string()]).nullish(),
  estimatedDuration: z.number().nullish(),
  idempotencyKey: z.string().nullish(),
  params: z.unknown().optional(),
});

/** A task as the agent shows it in an answer, a list or an event. */
export type NpcTask = z.output<typeof taskSchema>;

/** Reads a task; undefined when it is none. */
export function npcTaskOf(json: unknown): NpcTask | undefined {
  return taskSchema.safeParse(json).data;
}

const listSchema = z.looseObject({ tasks: z.array(z.unknown()) });

/** The tasks of the answer to `task.list`, without entries that are none; undefined when it is not a list. */
export function npcTasksOf(json: unknown): NpcTask[] | undefined {
  return listSchema.safeParse(json).data?.tasks.flatMap((task) => npcTaskOf(task) ?? []);
}

/** How far a task is. Names that the specification does not have count as what they say, and else as running. */
export function phaseOf({
  status,
}: Pick<NpcTask, 'status'>): 'running' | 'completed' | 'failed' | 'canceled' {
  switch (status.toLowerCase()) {
    case 'completed':
    case 'complete':
    case 'succeeded':
    case 'success':
    case 'done':
      return 'completed';
    case 'failed':
    case 'failure':
    case 'error':
    case 'rejected':
    case 'expired':
    case 'timeout':
      return 'failed';
    case 'canceled':
    case 'cancelled':
    case 'aborted':
      return 'canceled';
    default:
      return 'running';
  }
}

const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

const answerSchema = z.looseObject({ result: z.unknown().optional(), error: rpcErrorSchema.nullish() });

/** One agent and the limits of a request to it. */
export interface RpcPeer {
  server: NpcServer;
  transport: AgentTransport;
  clock: Clock;
  timeoutMs: number;
  redact: Redact;
}

/** How a call ended: with a result, or with an error of JSON-RPC that the caller turns into a sentence or an error. */
type RpcAnswer = { result: unknown } | { error: RpcError; asError(): Error };

/**
 * One call of JSON-RPC 2.0.
 * @throws {AgentUnavailableError | AgentTimeoutError | AgentProtocolError} no answer that is one of JSON-RPC
 * @throws the signal's reason when it aborts
 */
export async function callRpc(
  { server, transport, clock, timeoutMs, redact }: RpcPeer,
  method: string,
  params: unknown,
  { signal, idempotencyKey }: { signal: AbortSignal | undefined; idempotencyKey?: string },
): Promise<RpcAnswer> {
  const headers = server.headersFor(server.rpcUrl);
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json');
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
  const fetched = await withLimit(clock, timeoutMs, signal, (limited) =>
    transport.fetch(server.rpcUrl, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 }),
      signal: limited,
      maxBytes: MAX_ANSWER_BYTES,
    }),
  );
  signal?.throwIfAborted();
  const aborted = say('npc.silent', { method, ms: timeoutMs });
  const context = { agent: say('agent-name.npc'), aborted, nowMs: clock.now(), redact };
  if (fetched.kind === 'fault') throw exchangeError(fetched, context);
  const answer = answerSchema.safeParse(bodyJson(fetched)).data;
  if (answer?.error) {
    const { error } = answer;
    return { error, asError: () => rpcError(error, fetched.headers, clock.now(), redact) };
  }
  if (answer && 'result' in answer && fetched.status < 300) return { result: answer.result };
  if (fetched.status < 200 || fetched.status >= 300) throw exchangeError(fetched, context);
  throw new AgentProtocolError(say('npc.not-json-rpc', { method }));
}

/** Error codes of the specification that have their own meaning for a chat. */
const INVALID_PARAMS = -32602;
const AUTHENTICATION_FAILED = -32001;
const RATE_LIMITED = -32002;
const INSUFFICIENT_FUNDS = -32010;
const CONTRACT_FAILED = -32011;
export const METHOD_NOT_FOUND = -32601;

type RpcError = z.output<typeof rpcErrorSchema>;

const MAX_REASON_CHARS = 300;

const dataSchema = z.looseObject({
  field: z.string().nullish(),
  reason: z.string().nullish(),
  retryAfter: z.number().min(0).nullish(),
});

/**
 * The sentence for the person, when the error is about what the person asked for: a parameter that the agent refused
 * (-32602 with a field or a reason), missing funds (-32010), a contract that failed (-32011). Undefined for the others.
 */
export function sentenceForPerson({ code, data }: RpcError, redact: Redact): string | undefined {
  const { field, reason } = dataSchema.safeParse(data).data ?? {};
  const why = reason && sentence(redact(errorText(reason)).slice(0, MAX_REASON_CHARS));
  if (code === INVALID_PARAMS && (field || why)) {
    const name = field?.slice(0, 100);
    if (name && why) return `${name}: ${why}`;
    return why ?? `The agent does not accept that ${name}.`;
  }
  // Their reasons are those of a chain or a wallet, and for operators: the exchange of the trace has them.
  if (code === INSUFFICIENT_FUNDS) return 'There are not enough funds for this.';
  if (code === CONTRACT_FAILED) return 'The contract did not accept this.';
  return undefined;
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The error for an answer that is an error of JSON-RPC, and not one for the person. */
export function rpcError(error: RpcError, headers: Headers, nowMs: number, redact: Redact): Wa2aiError {
  const { code, message, data } = error;
  const text = redact(errorText(message ?? ''));
  const details = text && `: ${text}`;
  const said =
    code === undefined || code === null
      ? say('npc.error-without-code', { details })
      : say('npc.error', { code, details });
  if (code === AUTHENTICATION_FAILED) {
    return new AgentProtocolError(say('npc.check-key', { error: said }), { code: 'AGENT_ACCESS_DENIED' });
  }
  if (code === RATE_LIMITED) {
    const seconds = dataSchema.safeParse(data).data?.retryAfter ?? undefined;
    const waitMs = retryAfterMs(headers, nowMs) ?? (seconds === undefined ? undefined : seconds * 1_000);
    return new AgentUnavailableError(said, { isAway: true, retryAfterMs: waitMs });
  }
  return new AgentProtocolError(said, { code: 'AGENT_REPORTED_ERROR' });
}
