import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import { invalidParam, NpcError, RPC } from '../../../../../router/src/core/npc/npc-error.ts';
import { answerRpc, type RpcHandler } from '../../../../../router/src/infra/faces/npc/json-rpc.ts';

function setup(change: Partial<RpcHandler> = {}) {
  const calls: string[] = [];
  const ends: string[] = [];
  const faults: unknown[] = [];
  let admitted = 0;
  const handler: RpcHandler = {
    admit: async () => {
      admitted += 1;
    },
    call: async ({ method, params }) => {
      calls.push(method);
      return params;
    },
    onFault: (error) => faults.push(error),
    onEnd: async ({ method, error }) => void ends.push(`${method} ${error === undefined}`),
    ...change,
  };
  return {
    answer: (body: string) => answerRpc(body, handler),
    calls,
    ends,
    faults,
    admitted: () => admitted,
  };
}
const code = (response: unknown) => (response as { error?: { code: number } }).error?.code;

describe('answerRpc', () => {
  it('answers the examples of the specification of JSON-RPC 2.0', async () => {
    const { answer } = setup();
    expect(await answer('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]')).toMatchObject({
      error: { code: -32700 },
      id: null,
    });
    expect(await answer('{"jsonrpc": "2.0", "method": 1, "params": "bar"}')).toMatchObject({
      error: { code: -32600 },
      id: null,
    });
    expect(await answer('[]')).toMatchObject({ error: { code: -32600 }, id: null });
    expect(await answer('[1,2,3]')).toMatchObject(
      [1, 2, 3].map(() => ({ error: { code: -32600 }, id: null })),
    );
    expect(await answer('[{"jsonrpc": "2.0", "method": "notify", "params": {}}]')).toBeUndefined();
  });

  it('answers a batch in order, without its notifications', async () => {
    const { answer, calls, ends } = setup();
    const call = (method: string, id?: unknown) => ({ jsonrpc: '2.0', method, params: { method }, id });
    const answers = await answer(JSON.stringify([call('a', 'x'), call('b'), call('c', 3), 7]));
    expect(answers).toEqual([
      { jsonrpc: '2.0', result: { method: 'a' }, id: 'x' },
      { jsonrpc: '2.0', result: { method: 'c' }, id: 3 },
      expect.objectContaining({ id: null }),
    ]);
    expect(calls).toEqual(['a', 'b', 'c']);
    expect(ends).toEqual(['a true', 'b true', 'c true', ' false']);
  });

  it('refuses parameters by position, and a batch that is too large', async () => {
    const { answer } = setup();
    expect(code(await answer('{"jsonrpc":"2.0","method":"a","params":[1],"id":1}'))).toBe(-32602);
    expect(code(await answer(JSON.stringify(Array(51).fill(1))))).toBe(-32600);
  });

  it('shows errors meant for the caller, and hides all others', async () => {
    const errors = [
      invalidParam('a', 'B.'),
      new StorageUnavailableError('host db1'),
      new TypeError('secret'),
    ];
    const { answer, faults } = setup({
      call: async () => {
        throw errors.shift();
      },
    });
    const call = '{"jsonrpc":"2.0","method":"a","id":1}';
    expect(await answer(call)).toMatchObject({ error: { code: -32602, data: { field: 'a', reason: 'B.' } } });
    expect(await answer(call)).toMatchObject({ error: { code: -32603, data: { reason: /Try again/ } } });
    const last = await answer(call);
    expect(code(last)).toBe(-32603);
    expect(JSON.stringify(last)).not.toContain('secret');
    expect(faults).toHaveLength(2);
  });

  it('admits each entry before it is looked at', async () => {
    const { answer, calls } = setup({
      admit: async () => {
        throw new NpcError(RPC.authentication);
      },
    });
    for (const body of ['nonsense', '[]', '{"jsonrpc":"2.0","method":"a","id":1}']) {
      expect(code(await answer(body))).toBe(-32001);
    }
    expect(calls).toEqual([]);
  });

  it('answers any JSON with valid responses, one for each entry that has one', async () => {
    const entry = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          jsonrpc: fc.oneof(fc.constant('2.0'), fc.jsonValue()),
          method: fc.oneof(fc.string(), fc.jsonValue()),
          params: fc.jsonValue(),
          id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.jsonValue()),
        },
        { requiredKeys: [] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(entry, fc.array(entry, { maxLength: 8 })), async (body) => {
        const { answer, admitted } = setup();
        const answered = await answer(JSON.stringify(body));
        const responses = answered === undefined ? [] : [answered].flat();
        for (const response of responses) {
          expect(response.jsonrpc).toBe('2.0');
          expect('result' in response !== 'error' in response).toBe(true);
          expect(response.id === null || ['string', 'number'].includes(typeof response.id)).toBe(true);
        }
        const entries = Array.isArray(body) && body.length > 0 ? body.length : 1;
        expect(admitted()).toBe(entries);
        expect(responses.length).toBeLessThanOrEqual(entries);
      }),
    );
  });
});
