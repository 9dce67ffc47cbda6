import { createPublicClient, custom, type PublicClient } from 'viem';
import { z } from 'zod';
import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import { bodyJson } from '../../infra/agents/transport/body-text.ts';
import { ChainUnavailableError } from './npc-chain.ts';

/** A larger answer is refused: events of 500 blocks fit. */
const MAX_BYTES = 16 * 1024 * 1024;

/** JSON-RPC 2.0; an error has its code, its sentence and sometimes the data of a revert. */
const rpcAnswer = z.union([
  z.object({ error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }) }),
  z.object({ result: z.unknown() }),
]);

export interface RpcClientOptions {
  /** May contain a secret: no error contains it. */
  url: string;
  /** Of one request. */
  timeoutMs: number;
  transport: Pick<AgentTransport, 'fetch'>;
}

/** A failed call as the server answered it; viem reads these fields. */
class RpcAnswerError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * viem over wa2ai's own HTTP requests, with their limits and the egress policy. It retries nothing.
 * A request that gets no answer of JSON-RPC fails with ChainUnavailableError as a cause.
 */
export function rpcClient(options: RpcClientOptions): PublicClient {
  let requests = 0;
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    requests += 1;
    const answer = await post(options, { jsonrpc: '2.0', id: requests, method, params: params ?? [] });
    if ('error' in answer) throw new RpcAnswerError(answer.error);
    return answer.result;
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }), cacheTime: 0 });
}

async function post(
  { url, timeoutMs, transport }: RpcClientOptions,
  body: { method: string } & Record<string, unknown>,
): Promise<z.output<typeof rpcAnswer>> {
  const answer = await transport.fetch(url, {
    method: 'POST',
    headers: new Headers({ 'content-type': 'application/json', accept: 'application/json' }),
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
    maxBytes: MAX_BYTES,
  });
  const what = `The RPC server of the chain did not answer ${body.method}`;
  if (answer.kind === 'fault') {
    const why = answer.fault === 'aborted' ? `within ${timeoutMs} ms` : `(${answer.fault})`;
    throw new ChainUnavailableError(`${what} ${why}.`);
  }
  const parsed = rpcAnswer.safeParse(bodyJson(answer));
  if (!parsed.success) throw new ChainUnavailableError(`${what}: status ${answer.status}, and no JSON-RPC.`);
  return parsed.data;
}
