import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { answerRpc, invalidParam, NpcError, RPC } from '../../../router/src/features/npc/json-rpc.ts';
import { runs } from '../../support/property-runs.ts';

type RpcHandler = Parameters<typeof answerRpc>[1];

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
    expect(await answer('{"jsonrpc": "2.0", "method": 1, "id": 7}')).toEqual({
      jsonrpc: '2.0',
      error: {
        code: -32600,
        message: 'Invalid Request',
        data: { field: 'method', reason: 'method must be a text.' },
      },
      id: 7,
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
      new StorageUnavailableError({ sentence: 'host db1' }),
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

  it('answers any JSON with one valid response for each entry that is no notification, with its id', async () => {
    const rare = <T>(usual: fc.Arbitrary<T>) =>
      fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: fc.jsonValue() });
    const call = fc.record(
      {
        jsonrpc: rare(fc.constant('2.0')),
        method: rare(fc.string()),
        params: rare(fc.dictionary(fc.string(), fc.jsonValue())),
        id: rare(fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(null))),
      },
      { requiredKeys: ['jsonrpc', 'method'] },
    );
    const entry = fc.oneof({ weight: 4, arbitrary: call }, { weight: 1, arbitrary: fc.jsonValue() });
    const isId = (id: unknown) => id === null || typeof id === 'string' || typeof id === 'number';
    /** As the specification of JSON-RPC 2.0 defines them, and with null for parameters that are left out. */
    const isCall = (value: unknown) => {
      const { jsonrpc, method, id = null, params = {} } = (value ?? {}) as Record<string, unknown>;
      return (
        !Array.isArray(value) &&
        jsonrpc === '2.0' &&
        typeof method === 'string' &&
        typeof params === 'object' &&
        isId(id)
      );
    };
    const idOf = (value: unknown) => (value as { id?: unknown } | null)?.id;
    const isAnswered = (value: unknown) => !isCall(value) || idOf(value) !== undefined;
    await fc.assert(
      fc.asyncProperty(fc.oneof(entry, fc.array(entry, { maxLength: 8 })), async (body) => {
        const { answer, admitted } = setup();
        const text = JSON.stringify(body);
        const answered = await answer(text);
        const sent: unknown = JSON.parse(text);
        const isBatch = Array.isArray(sent) && sent.length > 0;
        const entries: unknown[] = isBatch ? sent : [sent];
        const expected = entries.filter(isAnswered);
        expect(admitted()).toBe(entries.length);
        if (expected.length === 0) expect(answered).toBeUndefined();
        else expect(Array.isArray(answered)).toBe(isBatch);
        const responses = answered === undefined ? [] : [answered].flat();
        expect(responses.map(({ id }) => id)).toEqual(
          expected.map((value) => (isId(idOf(value)) && !Array.isArray(value) ? idOf(value) : null)),
        );
        for (const [index, response] of responses.entries()) {
          expect(response.jsonrpc).toBe('2.0');
          expect('result' in response !== 'error' in response).toBe(true);
          expect(code(response) === -32600).toBe(!isCall(expected[index]));
        }
      }),
      runs(300),
    );
  });

  it('answers any text that is no JSON with -32700', async () => {
    const { answer } = setup();
    const isJson = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const text = fc.oneof(
      fc.string(),
      fc.json().map((json) => json.slice(0, -1)),
    );
    await fc.assert(
      fc.asyncProperty(
        text.filter((value) => !isJson(value)),
        async (body) => {
          expect(await answer(body)).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 }, id: null });
        },
      ),
    );
  });
});
