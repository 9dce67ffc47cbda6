import { describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../../../router/src/core/errors.ts';
import {
  type ErrorContext,
  faultError,
  refusalError,
  reportedError,
} from '../../../../../router/src/infra/agents/openai/openai-answer.ts';

const context: ErrorContext = {
  server: 'https://api.test/v1',
  model: 'gpt-x',
  timeoutMs: 500,
  nowMs: 0,
  redact: (text) => text.replaceAll('top-secret', '[secret]'),
};

function refused(status: number, error: unknown, headers: Record<string, string> = {}) {
  const body = Buffer.from(typeof error === 'string' ? error : JSON.stringify({ error }));
  return refusalError({ kind: 'answer', status, headers: new Headers(headers), body }, context);
}

describe('refusalError', () => {
  it.each([
    [
      401,
      { message: 'Incorrect API key provided: sk-abc*****xyz.' },
      'dead',
      /refused the API key \(401\): Incorrect API key provided: \[secret\]\. Set config\.openai\.apiKey\.$/,
    ],
    [
      403,
      { message: 'no access' },
      'dead',
      /denied access \(403\): no access\. Check config\.openai\.apiKey/,
    ],
    [
      404,
      { message: 'The model `gpt-x` does not exist', code: 'model_not_found' },
      'dead',
      /does not have the model "gpt-x" \(404\).*Correct config\.openai\.model\.$/,
    ],
    [
      404,
      { message: "model 'gpt-x' not found, try pulling it first" },
      'dead',
      /does not have the model "gpt-x"/,
    ],
    [
      404,
      '<html><title>x</title>Not Found</html>',
      'dead',
      /status 404: Not Found\. Check the address of the route/,
    ],
    [
      400,
      { message: 'maximum context length is 10', code: 'context_length_exceeded' },
      'dead',
      /Lower config\.openai\.historyTurns/,
    ],
    [402, { message: 'pay' }, 'dead', /no credit left/],
    [429, { message: 'quota', code: 'insufficient_quota' }, 'dead', /no credit left/],
    [429, { message: 'slow down', type: 'rate_limit' }, 'retry', /status 429: slow down\.$/],
    [500, { message: 'oops' }, 'retry', /status 500: oops\.$/],
    [503, '', 'retry', /status 503\.$/],
    [529, { message: 'overloaded' }, 'retry', /status 529/],
    [408, 'timeout', 'retry', /status 408/],
    [504, 'gateway', 'uncertain', /status 504/],
    [422, { message: 'bad top-secret value' }, 'dead', /status 422: bad \[secret\] value\.$/],
  ] as const)('of status %i with %j is %s', (status, error, disposition, sentence) => {
    const found = refused(status, error);
    expect(found.disposition).toBe(disposition);
    expect(found.message).toMatch(sentence);
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:09 GMT' }, 9_000],
    [{}, undefined],
  ])('waits as long as %j says', (headers, retryAfterMs) => {
    const error = refused(429, { message: 'slow down' }, headers as Record<string, string>);
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error).toMatchObject({ retryAfterMs, isAway: true });
  });

  it('says where a redirect points', () => {
    expect(refused(301, '', { location: 'https://other.test' }).message).toContain(
      'it points to https://other.test',
    );
  });
});

describe('reportedError', () => {
  it.each([
    [{ message: 'busy', code: '429' }, 'retry', 'AGENT_UNAVAILABLE'],
    [{ message: 'busy', code: '502' }, 'retry', 'AGENT_UNAVAILABLE'],
    [{ message: 'busy', type: 'overloaded_error' }, 'retry', 'AGENT_UNAVAILABLE'],
    [{ message: 'busy', code: 'rate_limit_exceeded' }, 'retry', 'AGENT_UNAVAILABLE'],
    [{ message: 'no', code: 'content_policy' }, 'dead', 'AGENT_REPORTED_ERROR'],
    [{ message: 'no', code: 'insufficient_quota' }, 'dead', 'AGENT_REPORTED_ERROR'],
    [{ message: '' }, 'dead', 'AGENT_REPORTED_ERROR'],
  ])('of %j is %s', (reported, disposition, code) => {
    expect(reportedError(reported, context)).toMatchObject({ disposition, code });
  });

  it('says what the server said', () => {
    expect(reportedError({ message: 'no top-secret' }, context).message).toBe(
      'The model server at https://api.test/v1 answered with an error: no [secret].',
    );
  });
});

describe('faultError', () => {
  it.each([
    ['refused', 'dead', 'AGENT_ADDRESS_REFUSED'],
    ['not-connected', 'retry', 'AGENT_UNAVAILABLE'],
    ['no-answer', 'retry', 'AGENT_UNAVAILABLE'],
    ['broken', 'retry', 'AGENT_UNAVAILABLE'],
    ['too-large', 'dead', 'AGENT_PROTOCOL'],
    ['aborted', 'uncertain', 'AGENT_TIMEOUT'],
  ] as const)('of %s is %s', (fault, disposition, code) => {
    const error = faultError({ kind: 'fault', fault, detail: { sentence: 'top-secret detail' } }, context);
    expect(error).toMatchObject({ disposition, code });
    expect(error.message).not.toContain('top-secret');
  });
});
