import { describe, expect, it } from 'vitest';
import { chainErrorOf, rpcClient } from '../../../router/src/features/npc/viem-npc-chain.ts';
import type { Fetched } from '../../../router/src/infra/agents/transport/bounded-fetch.ts';

const url = 'https://rpc.test/v3/secret';
const json = (body: unknown, status = 200): Fetched => ({
  kind: 'answer',
  status,
  headers: new Headers(),
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});

function setup(answer: Fetched) {
  const bodies: unknown[] = [];
  const fetch = async (_url: string, { body }: { body?: unknown }) => {
    bodies.push(JSON.parse(String(body)));
    return answer;
  };
  const client = rpcClient({ url, timeoutMs: 50, transport: { fetch } });
  const failure = () => client.getBlockNumber().then(() => undefined, chainErrorOf);
  return { client, bodies, failure };
}

describe('rpcClient', () => {
  it('sends JSON-RPC 2.0 once', async () => {
    const { client, bodies } = setup(json({ jsonrpc: '2.0', id: 1, result: '0x10' }));
    expect(await client.getBlockNumber()).toBe(16n);
    expect(bodies).toEqual([{ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }]);
  });

  it.each<[string, Fetched]>([
    ['a fault', { kind: 'fault', fault: 'not-connected', detail: { sentence: `refused by ${url}` } }],
    ['a time limit', { kind: 'fault', fault: 'aborted', detail: { sentence: 'aborted' } }],
    ['no JSON', json('<html>', 502)],
    ['no JSON-RPC', json({ hello: 1 }, 401)],
    ['an error of the server', json({ error: { code: -32005, message: 'limit exceeded' } }, 429)],
  ])('is unavailable after %s, without the URL', async (_name, answer) => {
    const { failure, bodies } = setup(answer);
    const error = await failure();
    expect(error).toMatchObject({ code: 'CHAIN_UNAVAILABLE', disposition: 'retry' });
    expect(error?.message).not.toContain('secret');
    expect(bodies).toHaveLength(1);
  });
});
