import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterEach(() => api.close());

async function limited(limits: { perMinute: number; perSecond: number }, path = '/api/routes') {
  const key = await api.addKey({ scopes: ['routes:read'], limits });
  return () => api.call('GET', path, undefined, { 'x-api-key': key });
}

describe('a key with limits', () => {
  it('learns from each response what remains', async () => {
    const call = await limited({ perMinute: 100, perSecond: 10 });
    await call();
    api.clock.nowMs += 300;
    const { status, headers } = await call();
    expect(status).toBe(200);
    expect(headers.get('ratelimit-policy')).toBe('"second";q=10;w=1, "minute";q=100;w=60');
    expect(headers.get('ratelimit')).toBe('"second";r=8;t=1, "minute";r=98;t=60');
    expect(headers.get('retry-after')).toBeNull();
  });

  it('gets a problem with the time to wait when it calls too often', async () => {
    const call = await limited({ perMinute: 2, perSecond: 10 });
    await call();
    api.clock.nowMs += 20_400;
    await call();
    const { status, headers, body } = await call();
    expect(status).toBe(429);
    expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(headers.get('retry-after')).toBe('40');
    expect(headers.get('ratelimit')).toBe('"second";r=8;t=1, "minute";r=0;t=40');
    const sentence = 'The key has used its requests of this minute. Try again in 40 seconds.';
    expect(body).toEqual({
      success: false,
      error: sentence,
      phrase: {
        code: 'problem.rate-limited',
        values: {
          window: { code: 'window.minute' },
          wait: { code: 'wait.seconds', values: { count: 40 } },
        },
      },
      code: 'RATE_LIMITED',
      docs: '../docs/troubleshooting.md#rate_limited',
      type: '../docs/troubleshooting.md#rate_limited',
      title: 'Too many requests',
      status: 429,
      detail: sentence,
    });
    api.clock.nowMs += 39_600;
    expect((await call()).status).toBe(200);
  });

  it('has a separate burst', async () => {
    const call = await limited({ perMinute: 100, perSecond: 1 });
    await call();
    const { headers, body } = await call();
    expect(body.error).toBe('The key has used its requests of this second. Try again in 1 second.');
    expect(headers.get('ratelimit')).toBe('"second";r=0;t=1');
  });

  it('uses them also for calls that are refused or find nothing, and not for public ones', async () => {
    const limits = { perMinute: 2, perSecond: 10 };
    expect((await (await limited(limits, '/health/live'))()).headers.get('ratelimit')).toBeNull();
    for (const [path, status] of [
      ['/api/accounts', 403],
      ['/api/nothing', 404],
    ] as const) {
      const call = await limited(limits, path);
      const statuses = [await call(), await call(), await call()].map((answer) => answer.status);
      expect([path, ...statuses]).toEqual([path, status, status, 429]);
    }
  });
});

it.each<[string, () => Record<string, string>]>([
  ['the admin key', () => ({ 'x-api-key': ADMIN_KEY })],
  ['a wrong key', () => ({ 'x-api-key': 'wrong' })],
])('%s has no limits', async (_what, headers) => {
  const { headers: shown } = await api.call('GET', '/api/routes', undefined, headers());
  expect([shown.get('ratelimit'), shown.get('ratelimit-policy')]).toEqual([null, null]);
});
