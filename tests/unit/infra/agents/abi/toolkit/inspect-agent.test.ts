import { describe, expect, it } from 'vitest';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import type {
  AgentProbe,
  ProbeAnswer,
} from '../../../../../../router/src/infra/agents/abi/toolkit/agent-probe.ts';
import { inspectAgent } from '../../../../../../router/src/infra/agents/abi/toolkit/inspect-agent.ts';

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

const abi = await createAbi(['greet(string name)', 'add(uint a, uint b)']);

describe('inspectAgent', () => {
  it('marks the functions that /health does not list', async () => {
    const { probe } = probeWith({ text: '{"status":"ok","methods":["greet", 5, null]}' });
    expect(await inspectAgent(probe, abi)).toEqual({
      url: 'http://agent',
      isReachable: true,
      health: 'status 200',
      methods: ['greet'],
      envelope: 'json',
      functions: [
        { signature: 'greet(string)', selector: '0xead710c4', isListed: true },
        { signature: 'add(uint256,uint256)', selector: '0x771602f7', isListed: false },
      ],
    });
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
      health: 'status 503: {"methods":["greet"]}',
      methods: [],
      functions: [],
    });
  });

  it('sends nothing more to an agent that cannot be reached', async () => {
    const { probe, asked } = probeWith({ status: 0, problem: 'ECONNREFUSED' });
    const report = await inspectAgent(probe, abi);
    expect(report).toMatchObject({ isReachable: false, health: 'ECONNREFUSED', methods: [] });
    expect(report).not.toHaveProperty('envelope');
    expect(asked).toEqual(['health']);
  });
});
