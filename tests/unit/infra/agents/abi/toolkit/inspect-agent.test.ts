import { describe, expect, it } from 'vitest';
import {
  type AgentProbe,
  inspectAgent,
  isAbiHealth,
  type ProbeAnswer,
} from '../../../../../../router/src/infra/agents/abi/abi-kind.ts';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';

function probeWith(health: Partial<ProbeAnswer> & { text?: string }) {
  const asked: string[] = [];
  const probe = {
    url: 'http://agent',
    health: async () => {
      asked.push('health');
      return { status: 200, body: Buffer.from(health.text ?? ''), ms: 1, ...health };
    },
    detectEnvelope: async () => {
      asked.push('envelope');
      return 'json';
    },
  } as unknown as AgentProbe;
  return { probe, asked };
}

const entries = ['greet(string name)', 'add(uint a, uint b)'];
const abi = { abi: await createAbi(entries), entries };

describe('inspectAgent', () => {
  it('marks the functions that /health does not list, and takes only texts for methods', async () => {
    const { probe } = probeWith({ text: '{"status":"ok","methods":["greet", 5, null]}' });
    const { methods, functions } = await inspectAgent(probe, abi);
    expect(methods).toEqual(['greet']);
    expect(functions.map(({ isListed }) => isListed)).toEqual([true, false]);
  });

  it.each(['', 'OK', 'null', '7', '[]', '{"methods":"greet"}', '{"methods":{}}', '{"methods":[]}'])(
    'marks no function when /health lists none: %j',
    async (text) => {
      const { methods, functions } = await inspectAgent(probeWith({ text }).probe, abi);
      expect(methods).toEqual([]);
      for (const found of functions) expect(found).not.toHaveProperty('isListed');
    },
  );

  it('ignores the list of an agent that is not healthy', async () => {
    const { probe } = probeWith({ status: 503, text: '{"methods":["greet"]}' });
    expect(await inspectAgent(probe, undefined)).toMatchObject({
      isReachable: true,
      answer: 'status 503: {"methods":["greet"]}',
      methods: [],
      functions: [],
    });
  });

  it('shows the version that the agent states, and no route without an ABI', async () => {
    const report = await inspectAgent(probeWith({ text: '{"version":"1.2","methods":[]}' }).probe, undefined);
    expect(report).toMatchObject({ version: '1.2', functions: [] });
    expect(report).not.toHaveProperty('route');
  });
});

describe('isAbiHealth', () => {
  it.each([
    [200, '{"status":"healthy"}', true],
    [200, '{"methods":["greet"]}', true],
    [200, '{"status":"ok"}', false],
    [200, 'OK', false],
    [200, '[]', false],
    [503, '{"status":"healthy"}', false],
  ])('of status %i with %s is %s', (status, text, expected) => {
    expect(isAbiHealth({ status, body: Buffer.from(text) })).toBe(expected);
  });
});
