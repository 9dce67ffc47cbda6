import { describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../../../../router/src/core/errors.ts';
import { rpcError, sentenceForPerson } from '../../../../../../router/src/infra/agents/npc/rpc/json-rpc.ts';

const same = (text: string) => text;
const error = (code: number, data?: unknown) => ({ code, message: 'Nope', data });

describe('sentenceForPerson', () => {
  it.each([
    [
      error(-32602, { field: 'opponent', reason: 'Invalid Ethereum address format' }),
      'opponent: Invalid Ethereum address format.',
    ],
    [error(-32602, { reason: 'Too late!' }), 'Too late!'],
    [error(-32602, { field: 'wager' }), 'The agent does not accept that wager.'],
    [error(-32010), 'There are not enough funds for this.'],
    [
      error(-32010, { reason: 'balance 0 wei; secret rpc stack at Wallet.js:1.' }),
      'There are not enough funds for this.',
    ],
    [error(-32011, { reason: 'execution reverted' }), 'The contract did not accept this.'],
  ])('%j', (given, sentence) => {
    expect(sentenceForPerson(given, same)).toBe(sentence);
  });

  it.each([[-32602], [-32603], [-32600], [-32001], [-32002]])('has none for %s without data', (code) => {
    expect(sentenceForPerson(error(code), same)).toBeUndefined();
  });

  it('redacts and shortens what the agent says', () => {
    const given = error(-32602, { reason: `key ${'x'.repeat(1_000)}` });
    const sentence = sentenceForPerson(given, (text) => text.replace('key', '[secret]'));
    expect(sentence).toMatch(/^\[secret\] x+\.$/);
    expect(sentence?.length).toBeLessThan(400);
  });
});

describe('rpcError', () => {
  it('is an access problem for the admin', () => {
    expect(rpcError(error(-32001), new Headers(), 0, same)).toMatchObject({
      code: 'AGENT_ACCESS_DENIED',
      disposition: 'dead',
      message: expect.stringContaining('config.npc.apiKey'),
    });
  });

  it('waits as long as the agent asks for', () => {
    const byHeader = rpcError(error(-32002), new Headers({ 'retry-after': '7' }), 0, same);
    expect(byHeader).toBeInstanceOf(AgentUnavailableError);
    expect(byHeader).toMatchObject({ retryAfterMs: 7_000, isAway: true });
    expect(rpcError(error(-32002, { retryAfter: 3 }), new Headers(), 0, same)).toMatchObject({
      retryAfterMs: 3_000,
    });
    expect(rpcError(error(-32002), new Headers(), 0, same)).toMatchObject({ retryAfterMs: undefined });
  });

  it('is dead for everything else', () => {
    expect(rpcError(error(-32603), new Headers(), 0, same)).toMatchObject({
      code: 'AGENT_REPORTED_ERROR',
      disposition: 'dead',
    });
  });
});
