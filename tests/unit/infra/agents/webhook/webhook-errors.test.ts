import { describe, expect, it } from 'vitest';
import {
  type ErrorContext,
  faultError,
  refusalError,
} from '../../../../../router/src/infra/agents/webhook/webhook-agent-client.ts';

const context: ErrorContext = {
  timeoutMs: 500,
  nowMs: 0,
  redact: (text) => text.replaceAll('top-secret', '[secret]'),
};

const refused = (status: number, body = '', headers: Record<string, string> = {}) =>
  refusalError({ kind: 'answer', status, headers: new Headers(headers), body: Buffer.from(body) }, context);

describe('refusalError', () => {
  it.each([
    [
      404,
      '{"code":404,"message":"The requested webhook is not registered.","hint":"x"}',
      'dead',
      /^The webhook answered status 404: The requested webhook is not registered\.$/,
    ],
    [401, 'no', 'dead', /status 401: no\. Check config\.webhook\.headers and config\.webhook\.secret\.$/],
    [500, '{"message":"Error in workflow"}', 'dead', /status 500: Error in workflow\.$/],
    [500, '<html><b>Oops</b></html>', 'dead', /status 500: Oops\.$/],
    [503, '', 'retry', /status 503\.$/],
    [429, 'wait', 'retry', /status 429/],
    [504, '', 'uncertain', /status 504/],
    [400, 'bad top-secret', 'dead', /bad \[secret\]\.$/],
  ] as const)('of status %i with %s is %s', (status, body, disposition, sentence) => {
    const error = refused(status, body);
    expect(error.disposition).toBe(disposition);
    expect(error.message).toMatch(sentence);
  });

  it('waits as long as the webhook says, and shows where a redirect points', () => {
    expect(refused(429, '', { 'retry-after': '3' })).toMatchObject({ retryAfterMs: 3_000 });
    expect(refused(302, '', { location: 'http://169.254.169.254/' }).message).toContain(
      'redirects are not followed',
    );
  });
});

describe('faultError', () => {
  it.each([
    ['refused', 'dead', 'AGENT_ADDRESS_REFUSED'],
    ['not-connected', 'retry', 'AGENT_UNAVAILABLE'],
    ['no-answer', 'uncertain', 'AGENT_TIMEOUT'],
    ['broken', 'uncertain', 'AGENT_TIMEOUT'],
    ['too-large', 'dead', 'AGENT_PROTOCOL'],
    ['aborted', 'uncertain', 'AGENT_TIMEOUT'],
  ] as const)('of %s is %s', (fault, disposition, code) => {
    const error = faultError({ kind: 'fault', fault, detail: 'top-secret detail' }, context);
    expect(error).toMatchObject({ disposition, code });
    expect(error.message).not.toContain('top-secret');
  });
});
