import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../../router/src/core/errors.ts';
import {
  AgentProbe,
  type ProbeAnswer,
  testAgent,
} from '../../../../../../router/src/infra/agents/abi/abi-kind.ts';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { viemParameter } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { ToolkitError } from '../../../../../../router/src/infra/agents/agent-tools.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';

const abi = await createAbi([
  'add(uint256 a, uint256 b) returns (uint256 sum)',
  'note(string text)',
  'f(bool a)',
  'f(string a)',
  'user((string name) u) returns (bool)',
]);
const params = abi.functions
  .flatMap(({ name, outputs }) => (name === 'add' ? outputs : []))
  .map(viemParameter);
const fortyTwo = Buffer.from(abi.codec.encode(params, [42n]).slice(2), 'hex');

/** A probe whose agent gives this answer to each call. */
class ScriptedProbe extends AgentProbe {
  readonly calls: string[] = [];
  readonly #answer: Partial<ProbeAnswer>;

  constructor(answer: Partial<ProbeAnswer>, envelope: 'raw' | 'json' = 'raw') {
    super('http://agent', { envelope, timeoutMs: 1_000, transport: new AgentTransport() });
    this.#answer = answer;
  }

  override async call(calldata: Uint8Array): Promise<ProbeAnswer> {
    this.calls.push(Buffer.from(calldata).toString('hex'));
    return { status: 200, body: Buffer.alloc(0), ms: 5, ...this.#answer };
  }
}

async function failure(answer: Partial<ProbeAnswer>, method: string, input: string) {
  const probe = new ScriptedProbe(answer);
  const error = await testAgent(probe, abi, { method, input }).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ToolkitError);
  return { message: (error as ToolkitError).message, calls: probe.calls };
}

describe('testAgent', () => {
  it.each(['{"b": 40, "a": 2}', '[2, 40]', '["0x2", "40"]'])('calls the function with %s', async (input) => {
    const probe = new ScriptedProbe({ body: fortyTwo });
    const calldata = `771602f7${'2'.padStart(64, '0')}${'28'.padStart(64, '0')}`;
    expect(await testAgent(probe, abi, { method: 'add', input })).toEqual({
      function: 'add(uint256,uint256)',
      selector: '0x771602f7',
      calldata: `0x${calldata}`,
      ms: 5,
      outputs: { sum: '42' },
      reply: '42',
    });
    expect(probe.calls).toEqual([calldata]);
  });

  it('has no reply when the function has no outputs', async () => {
    const report = await testAgent(new ScriptedProbe({}), abi, { method: 'note', input: '["x"]' });
    expect(report.outputs).toEqual({});
    expect(report).not.toHaveProperty('reply');
  });

  it.each([
    ['nope', '{}', "--method names 'nope', which is not among the functions."],
    ['f', '{}', "--method names 'f', of which there are several forms; write one of f(bool), f(string)."],
    ['add', '[1]', '--input: the input must have 2 values, got 1.'],
    ['add', '{"a": 1, "b": "x"}', "--input: b must be a whole number from 0 to 2^256-1, got 'x'."],
    ['add', '{"a": 1', "--input needs a '}' at the end."],
  ])('refuses --method %s --input %s without a call', async (method, input, sentence) => {
    expect(await failure({}, method, input)).toEqual({ message: sentence, calls: [] });
  });

  it('reports an agent that does not answer or refuses, with what is known about the refusal', async () => {
    expect((await failure({ status: 0, problem: 'ECONNREFUSED' }, 'note', '["x"]')).message).toBe(
      'The agent did not answer: ECONNREFUSED.',
    );
    const unknown = { status: 400, body: Buffer.from('Unknown function selector') };
    expect((await failure(unknown, 'note', '["x"]')).message).toBe(
      'The agent answered status 400: Unknown function selector.',
    );
    expect((await failure(unknown, 'user', '[{"name": "Ann"}]')).message).toMatch(
      /^The agent answered status 400: Unknown function selector \(the agent seems to compute tuple selectors wrongly/,
    );
  });

  it('reports an answer that does not fit the ABI', async () => {
    expect((await failure({ body: Buffer.alloc(31) }, 'add', '[1, 2]')).message).toBe(
      'The answer of 31 bytes does not fit the ABI: it ends before sum.',
    );
    const json = new ScriptedProbe({ body: fortyTwo }, 'json');
    await expect(testAgent(json, abi, { method: 'add', input: '[1, 2]' })).rejects.toThrow(
      AgentProtocolError,
    );
  });
});
