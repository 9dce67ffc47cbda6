import { describe, expect, it } from 'vitest';
import {
  failed,
  faultError,
  refusalError,
  reportedError,
} from '../../../../../router/src/infra/agents/adk/adk-run.ts';

const asWritten = (text: string) => text;

function refusedWith(status: number, body = 'no good', headers: Record<string, string> = {}) {
  const options = { apps: [], nowMs: 0, redact: asWritten };
  return refusalError({ status, headers: new Headers(headers), body }, options);
}

describe('faultError', () => {
  it.each([
    ['refused', 'dead', 'AGENT_ADDRESS_REFUSED'],
    ['not-connected', 'retry', 'AGENT_UNAVAILABLE'],
    ['no-answer', 'retry', 'AGENT_UNAVAILABLE'],
    ['too-large', 'dead', 'AGENT_PROTOCOL'],
    ['broken', 'uncertain', 'AGENT_TIMEOUT'],
    ['aborted', 'uncertain', 'AGENT_TIMEOUT'],
  ] as const)('makes %s %s', (reason, disposition, code) => {
    const error = faultError(reason, { sentence: 'why' }, undefined);
    expect(error).toMatchObject({ disposition, code, message: failed({ sentence: 'why' }).sentence });
  });

  it('counts the agent as away only when nothing was sent', () => {
    const cause = new Error('ECONNREFUSED');
    expect(faultError('not-connected', { sentence: 'why' }, cause)).toMatchObject({ isAway: true, cause });
    expect(faultError('no-answer', { sentence: 'why' }, cause)).toMatchObject({ isAway: false, cause });
  });
});

describe('refusalError', () => {
  it.each([
    [400, 'dead'],
    [401, 'dead'],
    [429, 'retry'],
    [500, 'dead'],
    [502, 'retry'],
    [503, 'retry'],
    [504, 'uncertain'],
  ])('makes %i %s', (status, disposition) => {
    expect(refusedWith(status)).toMatchObject({
      disposition,
      message: `ADK agent endpoint returned ${status}: no good`,
    });
  });

  it('adds the apps of the server and the target of a redirect', () => {
    const headers = new Headers({ location: 'https://other.example/run' });
    const options = { apps: ['one', 'two'], nowMs: 0, redact: asWritten };
    expect(refusalError({ status: 307, headers, body: '' }, options).message).toBe(
      'ADK agent endpoint returned 307:  (apps of this server: one, two) (redirects are not followed; it points to https://other.example/run)',
    );
  });

  it('shortens a long list of apps', () => {
    const options = { apps: Array.from({ length: 500 }, (_, n) => `app${n}`), nowMs: 0, redact: asWritten };
    const { message } = refusalError({ status: 404, headers: new Headers(), body: 'x' }, options);
    expect(message.length).toBeLessThan(400);
  });

  it('redacts the body, the apps and the target of a redirect', () => {
    const headers = new Headers({ location: 'https://a/?key=secret' });
    const redact = (text: string) => text.replaceAll('secret', '[secret]');
    const options = { apps: ['secret'], nowMs: 0, redact };
    const { message } = refusalError({ status: 302, headers, body: 'the secret' }, options);
    expect(message.match(/\[secret\]/g)).toHaveLength(3);
    expect(message.replaceAll('[secret]', '')).not.toContain('secret');
  });
});

describe('reportedError', () => {
  const answer = { kind: 'failed', eventCount: 1, code: '429', reason: 'too many' } as const;

  it('is retryable only when the run can be repeated', () => {
    expect(reportedError({ ...answer, isRepeatable: true }, asWritten)).toMatchObject({
      disposition: 'retry',
      message: failed({ sentence: 'the agent reported 429: too many' }).sentence,
    });
    expect(reportedError({ ...answer, isRepeatable: false }, asWritten)).toMatchObject({
      disposition: 'dead',
      code: 'AGENT_REPORTED_ERROR',
    });
  });

  it('has no colon without a reason', () => {
    const error = reportedError({ ...answer, reason: ' ', isRepeatable: false }, asWritten);
    expect(error.message).toBe(failed({ sentence: 'the agent reported 429' }).sentence);
  });

  it('redacts the reason', () => {
    const error = reportedError({ ...answer, isRepeatable: false }, (text) => text.replace('many', '[…]'));
    expect(error.message).toContain('too […]');
  });
});
