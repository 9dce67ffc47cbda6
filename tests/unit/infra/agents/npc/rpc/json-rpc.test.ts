import { describe, expect, it } from 'vitest';
import { npcServer } from '../../../../../../router/src/infra/agents/npc/card/npc-card.ts';
import { callRpc } from '../../../../../../router/src/infra/agents/npc/rpc/json-rpc.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../../router/src/infra/clock/system-clock.ts';
import { serverOf } from '../../../../../support/abi.ts';

async function setup(answer: string, status = 200) {
  const bodies: string[] = [];
  const headers: Array<Record<string, unknown>> = [];
  const { url } = await serverOf(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    bodies.push(Buffer.concat(chunks).toString());
    headers.push(request.headers);
    response.writeHead(status).end(answer);
  });
  const peer = {
    server: npcServer(url, { apiKey: 'key-12345' }, undefined),
    transport: new AgentTransport(),
    clock: holdingClock,
    timeoutMs: 5_000,
    redact: (text: string) => text.replaceAll('key-12345', '[secret]'),
  };
  const call = (signal?: AbortSignal) =>
    callRpc(peer, 'task.list', { a: 1 }, { signal, idempotencyKey: 'idem' });
  return { bodies, headers, peer, call };
}

describe('callRpc', () => {
  it('sends JSON-RPC 2.0 with the key and the idempotency key', async () => {
    const { bodies, headers, call } = await setup('{"jsonrpc":"2.0","id":1,"result":null}');
    expect(await call()).toEqual({ result: null });
    expect(JSON.parse(bodies[0] ?? '')).toEqual({
      jsonrpc: '2.0',
      method: 'task.list',
      params: { a: 1 },
      id: 1,
    });
    expect(headers[0]).toMatchObject({
      'x-api-key': 'key-12345',
      'idempotency-key': 'idem',
      'content-type': 'application/json',
    });
  });

  it('returns an error of JSON-RPC, whatever the status is', async () => {
    const { call } = await setup(
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no key-12345"}}',
      400,
    );
    const answer = await call();
    expect(answer).toMatchObject({ error: { code: -32601 } });
    expect('error' in answer && answer.asError().message).toBe(
      'The NPC agent answered error -32601: no [secret].',
    );
  });

  it.each([
    ['no JSON', '<html>', 200, 'AGENT_PROTOCOL'],
    ['no JSON-RPC', '[]', 200, 'AGENT_PROTOCOL'],
    ['a status', 'busy', 503, 'AGENT_UNAVAILABLE'],
    ['a result with a wrong status', '{"result":1}', 500, 'AGENT_PROTOCOL'],
  ])('fails for %s', async (_name, answer, status, code) => {
    await expect((await setup(answer, status)).call()).rejects.toMatchObject({ code });
  });
});
