import { z } from 'zod';
import { AgentProtocolError, AgentUnavailableError, type Wa2aiError } from '../../../../core/errors.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { withLimit } from '../../../../core/time-limit.ts';
import { type AgentTransport, retryAfterMs } from '../../transport/agent-transport.ts';
import { bodyJson, errorText } from '../../transport/error-text.ts';
import { exchangeError } from '../../transport/exchange-error.ts';
import type { Redact } from '../../transport/redaction.ts';
import type { NpcServer } from '../card/npc-card.ts';
import { rpcErrorSchema } from './npc-task.ts';

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
export type RpcAnswer = { result: unknown } | { error: RpcError; asError(): Error };

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
  const aborted = `The NPC agent did not answer ${method} within ${timeoutMs} ms.`;
  const context = { agent: 'NPC agent', aborted, nowMs: clock.now(), redact };
  if (fetched.kind === 'fault') throw exchangeError(fetched, context);
  const answer = answerSchema.safeParse(bodyJson(fetched)).data;
  if (answer?.error) {
    const { error } = answer;
    return { error, asError: () => rpcError(error, fetched.headers, clock.now(), redact) };
  }
  if (answer && 'result' in answer && fetched.status < 300) return { result: answer.result };
  if (fetched.status < 200 || fetched.status >= 300) throw exchangeError(fetched, context);
  throw new AgentProtocolError(`The NPC agent answered ${method} with something that is no JSON-RPC 2.0.`);
}

/** Error codes of the specification that have their own meaning for a chat. */
const INVALID_PARAMS = -32602;
const AUTHENTICATION_FAILED = -32001;
const RATE_LIMITED = -32002;
const INSUFFICIENT_FUNDS = -32010;
const CONTRACT_FAILED = -32011;
export const METHOD_NOT_FOUND = -32601;

export type RpcError = z.output<typeof rpcErrorSchema>;

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
  const said = `The NPC agent answered error ${code ?? 'without a code'}${text && `: ${text}`}.`;
  if (code === AUTHENTICATION_FAILED) {
    const sentence = `${said} Check config.npc.apiKey of the route, and whether the card names another host.`;
    return new AgentProtocolError(sentence, { code: 'AGENT_ACCESS_DENIED' });
  }
  if (code === RATE_LIMITED) {
    const seconds = dataSchema.safeParse(data).data?.retryAfter ?? undefined;
    const waitMs = retryAfterMs(headers, nowMs) ?? (seconds === undefined ? undefined : seconds * 1_000);
    return new AgentUnavailableError(said, { isAway: true, retryAfterMs: waitMs });
  }
  return new AgentProtocolError(said, { code: 'AGENT_REPORTED_ERROR' });
}
