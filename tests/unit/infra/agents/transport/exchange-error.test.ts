import { describe, expect, it } from 'vitest';
import { exchangeError } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';

const same = (text: string) => text;

describe('exchangeError', () => {
  const context = {
    agent: { sentence: 'NPC agent' },
    aborted: { sentence: 'too slow' },
    nowMs: 0,
    redact: same,
  };
  const answer = (status: number) => ({
    kind: 'answer' as const,
    status,
    headers: new Headers(),
    body: Buffer.from('why'),
  });
  const fault = (kind: 'refused' | 'not-connected' | 'no-answer' | 'broken' | 'too-large' | 'aborted') => ({
    kind: 'fault' as const,
    fault: kind,
    detail: { sentence: 'because' },
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
