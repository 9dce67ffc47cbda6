import { describe, expect, it } from 'vitest';
import { Wa2aiError } from '../../../../../router/src/core/errors.ts';
import type { Fetched } from '../../../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { WebhookAgentClient } from '../../../../../router/src/infra/agents/webhook/webhook-agent-client.ts';
import { aMessage } from '../../../../support/adk-requests.ts';
import { AnsweringTransport } from '../../../../support/answering-transport.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

/** The error of a request that ends like this. */
async function errorOf(end: Fetched): Promise<Wa2aiError> {
  const client = new WebhookAgentClient({
    webhook: { secret: 'top-secret' },
    timeoutMs: 500,
    clock: new FakeClock(),
    transport: new AnsweringTransport(end),
  });
  const error: unknown = await client.sendMessage('http://hook.test', aMessage({})).catch((caught) => caught);
  if (error instanceof Wa2aiError) return error;
  throw new Error('there is no error');
}

const refused = (status: number, body = '', headers: Record<string, string> = {}) =>
  errorOf({ kind: 'answer', status, headers: new Headers(headers), body: Buffer.from(body) });

describe('the error of a refusal', () => {
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
  ] as const)('of status %i with %s is %s', async (status, body, disposition, sentence) => {
    const error = await refused(status, body);
    expect(error.disposition).toBe(disposition);
    expect(error.message).toMatch(sentence);
  });

  it('waits as long as the webhook says, and shows where a redirect points', async () => {
    expect(await refused(429, '', { 'retry-after': '3' })).toMatchObject({ retryAfterMs: 3_000 });
    expect((await refused(302, '', { location: 'http://169.254.169.254/' })).message).toContain(
      'redirects are not followed',
    );
  });
});

describe('the error of a fault', () => {
  it.each([
    ['refused', 'dead', 'AGENT_ADDRESS_REFUSED'],
    ['not-connected', 'retry', 'AGENT_UNAVAILABLE'],
    ['no-answer', 'uncertain', 'AGENT_TIMEOUT'],
    ['broken', 'uncertain', 'AGENT_TIMEOUT'],
    ['too-large', 'dead', 'AGENT_PROTOCOL'],
    ['aborted', 'uncertain', 'AGENT_TIMEOUT'],
  ] as const)('of %s is %s', async (fault, disposition, code) => {
    const error = await errorOf({ kind: 'fault', fault, detail: { sentence: 'top-secret detail' } });
    expect(error).toMatchObject({ disposition, code });
    expect(error.message).not.toContain('top-secret');
  });
});
