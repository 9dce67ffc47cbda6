import { z } from 'zod';
import { AgentProtocolError } from '../../../../core/errors.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { withLimit } from '../../../../core/time-limit.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import { bodyJson } from '../../transport/body-text.ts';
import { exchangeError } from '../../transport/exchange-error.ts';
import type { Redact } from '../../transport/redaction.ts';
import type { NpcServer } from '../card/npc-server.ts';
import { type RpcError, rpcError } from './npc-errors.ts';
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
