import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { errorOfSaid, say } from '../../../router/src/core/phrases.ts';
import { sendEvent } from '../../../router/src/features/webhooks/send-event.ts';
import type { AgentTransport } from '../../../router/src/infra/agents/transport/agent-transport.ts';
import type { Fetched, FetchOptions } from '../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

const event = {
  eventId: 'e1',
  event: 'account-state' as const,
  accountId: 'default',
  at: new Date('2026-11-23T12:00:00Z'),
  facts: { state: 'open', reason: null, number: null },
  url: 'https://example.com/hook',
  secret: 'a-secret-of-a-webhook',
};

function setup(answer: Fetched | undefined, given: Partial<typeof event> = {}) {
  const clock = new FakeClock(Date.UTC(2026, 10, 23, 12));
  const calls: Array<{ url: string } & FetchOptions> = [];
  const transport: Pick<AgentTransport, 'fetch'> = {
    fetch: (url, options) => {
      calls.push({ url, ...options });
      if (answer) return Promise.resolve(answer);
      return new Promise((resolve) =>
        options.signal.addEventListener('abort', () =>
          resolve({ kind: 'fault', fault: 'aborted', detail: { sentence: 'aborted' } }),
        ),
      );
    },
  };
  const stopping = new AbortController();
  const sent = sendEvent({ transport, clock }, { ...event, ...given }, stopping.signal);
  return { clock, calls, stopping, sent };
}

const answered = (status: number, headers: Record<string, string> = {}): Fetched => ({
  kind: 'answer',
  status,
  headers: new Headers(headers),
  body: Buffer.from('private text of the receiver'),
});
const failed = (fault: Extract<Fetched, { kind: 'fault' }>['fault']): Fetched => ({
  kind: 'fault',
  fault,
  detail: { sentence: 'the detail' },
});

describe('sendEvent', () => {
  it('sends the body with its id and a signature over the time and the bytes', async () => {
    const { calls, sent } = setup(answered(204));
    expect(await sent).toEqual({ status: 204 });
    const [call] = calls;
    const { headers, body } = call as FetchOptions;
    expect(call).toMatchObject({ url: 'https://example.com/hook', method: 'POST' });
    expect(JSON.parse(String(body))).toMatchObject({ event: 'account-state', state: 'open' });
    const timestamp = String(Date.UTC(2026, 10, 23, 12) / 1_000);
    const digest = createHmac('sha256', 'a-secret-of-a-webhook').update(`${timestamp}.${body}`).digest('hex');
    expect(Object.fromEntries(headers)).toEqual({
      'content-type': 'application/json',
      'idempotency-key': 'e1',
      'x-wa2ai-timestamp': timestamp,
      'x-wa2ai-signature': `sha256=${digest}`,
    });
  });

  it.each([
    [answered(500), say('delivery.status', { status: 500 }), { status: 500 }],
    [
      answered(503, { 'retry-after': '7' }),
      say('delivery.status', { status: 503 }),
      { status: 503, retryAfterMs: 7_000 },
    ],
    [answered(302), say('delivery.redirect', { status: 302 }), { status: 302 }],
    [failed('refused'), say('delivery.not-called', { why: 'the detail' }), {}],
    [failed('not-connected'), say('delivery.not-connected', { why: 'the detail' }), {}],
    [failed('no-answer'), say('delivery.connection-ended', { why: 'the detail' }), {}],
    [failed('broken'), say('delivery.connection-ended', { why: 'the detail' }), {}],
  ])('says how it failed, without what the receiver answered %#', async (answer, said, more) => {
    const result = await setup(answer).sent;
    expect(result).toEqual({ ...errorOfSaid(said), ...more });
    expect(JSON.stringify(result)).not.toContain('private');
  });

  it('counts a success whose body is too large', async () => {
    expect(await setup(failed('too-large')).sent).toEqual({ status: 200 });
  });

  it('waits ten seconds for the answer', async () => {
    const { clock, sent } = setup(undefined);
    await settle();
    await clock.advanceMs(10_000);
    expect(await sent).toEqual(errorOfSaid(say('delivery.silent', { seconds: 10 })));
  });

  it('throws when it is stopped', async () => {
    const { stopping, sent } = setup(undefined);
    await settle();
    stopping.abort(new Error('stopped'));
    await expect(sent).rejects.toThrow('stopped');
  });

  it('sends nothing without a secret', async () => {
    const { calls, sent } = setup(answered(200), { secret: undefined as never });
    expect(await sent).toEqual(errorOfSaid(say('delivery.secret-unreadable')));
    expect(calls).toEqual([]);
  });
});
