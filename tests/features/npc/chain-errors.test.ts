import { createPublicClient, custom, encodeErrorResult, parseAbi } from 'viem';
import { describe, expect, it } from 'vitest';
import {
  ARENA_ABI,
  answerOf,
  chainErrorOf,
  revertReasonOf,
} from '../../../router/src/features/npc/viem-npc-chain.ts';

const address = `0x${'1'.repeat(40)}` as const;
const errors = parseAbi(['error Error(string reason)', 'error NotOpen(uint256 duel)']);

/** What viem throws when the server answers the call so. */
async function thrown(answer: { error: Record<string, unknown> } | { result: string }): Promise<unknown> {
  const request = async () => {
    if ('result' in answer) return answer.result;
    throw Object.assign(new Error(String(answer.error.message)), answer.error);
  };
  const client = createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
  const call = { abi: ARENA_ABI, address, functionName: 'createDuel', args: [address, 1n, address] } as const;
  return await client.simulateContract({ ...call, account: address }).then(
    () => undefined,
    (error: unknown) => error,
  );
}
const reverted = (reason: string) => ({
  error: {
    code: 3,
    message: 'execution reverted',
    data: encodeErrorResult({ abi: errors, errorName: 'Error', args: [reason] }),
  },
});

describe('chainErrorOf', () => {
  it('is -32011 with one bounded line of the reason of the contract', async () => {
    const error = await thrown(reverted(`closed\n\u0007${'x'.repeat(1_000)}`));
    const known = chainErrorOf(error) as { body?: { code: number; data: { reason: string } } };
    expect(known.body?.code).toBe(-32011);
    expect(known.body?.data.reason).toMatch(/^The contract refused the call: closed x{290,}\.$/);
    expect(known.body?.data.reason.length).toBeLessThan(350);
    expect(revertReasonOf(await thrown(reverted('no.')))).toBe('no');
  });

  it('names an error of the contract that is not a text', async () => {
    const data = encodeErrorResult({ abi: errors, errorName: 'NotOpen', args: [1n] });
    const error = await thrown({ error: { code: 3, message: 'execution reverted', data } });
    expect(revertReasonOf(error)).toBe(data.slice(0, 10));
  });

  it('is -32010 when there is no money for gas', async () => {
    const error = await thrown({
      error: { code: -32000, message: 'insufficient funds for gas * price + value' },
    });
    expect(chainErrorOf(error)).toMatchObject({ body: { code: -32010 } });
  });

  it('is an error of the settings when an address has no contract', async () => {
    expect(chainErrorOf(await thrown({ result: '0x' }))).toMatchObject({ code: 'CHAIN_SETTINGS' });
  });

  it('is an unavailable chain in every other case, with the words of the server', async () => {
    const error = await thrown({ error: { code: -32005, message: 'too many requests' } });
    expect(answerOf(error)).toBe('too many requests');
    expect(chainErrorOf(error)).toMatchObject({
      code: 'CHAIN_UNAVAILABLE',
      message: 'The RPC server of the chain refused a call: too many requests.',
    });
    expect(chainErrorOf(new TypeError('x is undefined'))).toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
    expect(answerOf('text')).toBeUndefined();
  });
});
