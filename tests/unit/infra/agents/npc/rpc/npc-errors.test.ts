import { describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../../../../router/src/core/errors.ts';
import {
  exchangeError,
  rpcError,
  sentenceForPerson,
} from '../../../../../../router/src/infra/agents/npc/rpc/npc-errors.ts';

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
    [error(-32010, { reason: 'Balance 3' }), 'There are not enough funds for this. Balance 3.'],
    [
      error(-32011, { reason: 'execution reverted' }),
      'The contract did not accept this. execution reverted.',
    ],
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

describe('exchangeError', () => {
  const context = { aborted: 'too slow', nowMs: 0, redact: same };
  const answer = (status: number) => ({
    kind: 'answer' as const,
    status,
    headers: new Headers(),
    body: Buffer.from('why'),
  });
  const fault = (kind: 'refused' | 'not-connected' | 'no-answer' | 'broken' | 'too-large' | 'aborted') => ({
    kind: 'fault' as const,
    fault: kind,
    detail: 'because',
  });

  it.each([
    [answer(503), 'AGENT_UNAVAILABLE', 'retry'],
    [answer(504), 'AGENT_TIMEOUT', 'uncertain'],
    [answer(401), 'AGENT_ACCESS_DENIED', 'dead'],
    [answer(302), 'AGENT_PROTOCOL', 'dead'],
    [fault('aborted'), 'AGENT_TIMEOUT', 'uncertain'],
    [fault('broken'), 'AGENT_TIMEOUT', 'uncertain'],
    [fault('refused'), 'AGENT_ADDRESS_REFUSED', 'dead'],
    [fault('too-large'), 'AGENT_PROTOCOL', 'dead'],
    [fault('not-connected'), 'AGENT_UNAVAILABLE', 'retry'],
  ])('%j', (fetched, code, disposition) => {
    expect(exchangeError(fetched, context)).toMatchObject({ code, disposition });
  });

  it('says whether a lost request may have run', () => {
    expect(exchangeError(fault('no-answer'), context)).toMatchObject({ mayHaveRun: true, isAway: false });
    expect(exchangeError(fault('not-connected'), context)).toMatchObject({ mayHaveRun: false, isAway: true });
  });
});
