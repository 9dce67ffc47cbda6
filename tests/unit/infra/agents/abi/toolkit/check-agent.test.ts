import { describe, expect, it } from 'vitest';
import { checkAgent } from '../../../../../../router/src/infra/agents/abi/abi-kind.ts';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';

/** An agent without functions with this response time. */
function agentTaking(ms: number) {
  const answer = (status: number, body = '') => ({ status, body: Buffer.from(body), ms });
  return {
    url: 'http://agent',
    envelope: 'raw' as const,
    health: async () => answer(200, '{}'),
    call: async (calldata: Uint8Array) => answer(calldata.length === 4 ? 200 : 400),
    outputsOf: () => Buffer.alloc(0),
  };
}

describe('the response time of an agent', () => {
  it.each([
    [24_999, 'pass'],
    [25_001, 'fail'],
  ])('of %i ms is a %s', async (ms, result) => {
    const report = await checkAgent(agentTaking(ms), await createAbi(['function f()']));
    expect(report.results).toContainEqual({
      check: 'every answer comes within 25 s',
      result,
      found: `the slowest took ${ms} ms`,
      ms,
    });
    expect(report.isConforming).toBe(result === 'pass');
  });
});
