import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../../router/src/core/errors.ts';
import { a2aError } from '../../../../../../router/src/infra/agents/a2a/wire/a2a-connection.ts';
import type { Fetched } from '../../../../../../router/src/infra/agents/transport/bounded-fetch.ts';

const errorOf = (error: unknown, failure?: Fetched, isTimeout = false) =>
  a2aError(error, {
    failure,
    isTimeout,
    timeoutMs: 50,
    nowMs: 0,
    redact: (text) => text.replaceAll('key', '[secret]'),
  });
const answer = (status: number): Fetched => ({
  kind: 'answer',
  status,
  headers: new Headers({ 'retry-after': '2' }),
  body: Buffer.from('why'),
});
const reported = Object.assign(new Error('Task not found: key'), { code: -32001 });

describe('a2aError', () => {
  it.each([
    ['a time-out', new Error('x'), undefined, true, 'AGENT_TIMEOUT', 'uncertain'],
    ['an error of the protocol', reported, undefined, false, 'AGENT_REPORTED_ERROR', 'dead'],
    ['an error of the protocol with a status', reported, answer(404), false, 'AGENT_REPORTED_ERROR', 'dead'],
    ['a busy agent, whatever it says', reported, answer(429), false, 'AGENT_UNAVAILABLE', 'retry'],
    ['a wrong key', reported, answer(401), false, 'AGENT_ACCESS_DENIED', 'dead'],
    ['a status', new Error('x'), answer(500), false, 'AGENT_PROTOCOL', 'dead'],
    [
      'a lost connection',
      new TypeError('terminated', {
        cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
      }),
      undefined,
      false,
      'AGENT_UNAVAILABLE',
      'retry',
    ],
    ['anything else', new SyntaxError('Unexpected token'), undefined, false, 'AGENT_PROTOCOL', 'dead'],
    ['no error', 'text', undefined, false, 'AGENT_PROTOCOL', 'dead'],
  ])('%s', (_name, error, failure, isTimeout, code, disposition) => {
    expect(errorOf(error, failure, isTimeout)).toMatchObject({ code, disposition });
  });

  it('keeps an error of wa2ai, and hides secrets', () => {
    const own = new AgentProtocolError({ sentence: 'mine' });
    expect(errorOf(own)).toBe(own);
    expect(errorOf(reported).message).toBe('The A2A agent answered with an error: Task not found: [secret]');
  });
});
