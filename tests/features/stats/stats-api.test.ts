import { describe, expect, it } from 'vitest';
import { bucketOf, TIME_BUCKETS } from '../../../router/src/features/stats/stats-recorder.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

async function add(minutesAgo: number, answersMs: readonly number[], accountId = 'default') {
  const times = Array.from({ length: TIME_BUCKETS }, () => 0);
  for (const ms of answersMs) times[bucketOf(ms)] = (times[bucketOf(ms)] ?? 0) + 1;
  const counts = { accountId, messages: answersMs.length + 2, answers: answersMs.length, failures: 1, times };
  await api.stats.add(api.clock.nowMs - minutesAgo * 60_000, [counts], []);
}

describe('GET /api/stats', () => {
  it('shows every minute of the last hour, with answer times where there were answers', async () => {
    await add(0, [700, 700]);
    await add(59, [80]);
    await add(61, [80]);
    const { body } = await api.call('GET', '/api/stats');
    const { points, stepSeconds, total, before } = body.data;
    expect([points.length, stepSeconds]).toEqual([60, 60]);
    expect(points[0]).toMatchObject({ at: '2026-01-02T02:05:00.000Z', messages: 3, answers: 1, failures: 1 });
    expect(points[1]).toEqual({ at: '2026-01-02T02:06:00.000Z', messages: 0, answers: 0, failures: 0 });
    expect(points[59]).toMatchObject({ at: '2026-01-02T03:04:00.000Z', messages: 4 });
    expect(points[59].p50Ms).toBeGreaterThan(600);
    expect(points[59].p95Ms).toBeLessThanOrEqual(800);
    expect(total).toMatchObject({ messages: 7, answers: 3, failures: 2 });
    expect(before).toMatchObject({ messages: 3, answers: 1, failures: 1, p50Ms: expect.any(Number) });
  });

  it('shows a day and 30 days in as many points as a chart can show', async () => {
    await add(61, [80]);
    await add(29 * 24 * 60, [80]);
    await add(59 * 24 * 60, [80, 80, 80]);
    for (const [span, points, answers, before] of [
      ['24h', 144, 1, 0],
      ['30d', 120, 2, 3],
    ]) {
      const { data } = (await api.call('GET', `/api/stats?span=${span}`)).body;
      expect([data.points.length, data.total.answers, data.before.answers]).toEqual([
        points,
        answers,
        before,
      ]);
    }
  });

  it('shows one account, and what is open at this moment', async () => {
    await add(0, [80], 'mine');
    await add(0, [80], 'other');
    api.accounts.set({ accountId: 'mine', state: 'pairing' });
    const { body } = await api.call('GET', '/api/stats?accountId=mine');
    expect(body.data.total.answers).toBe(1);
    expect(body.data.now).toEqual({ waiting: 3, deadLetters: 4, accounts: { open: 1, pairing: 1 } });
  });

  it('refuses a key that is restricted to some chats', async () => {
    const scopes = ['messages:read', 'accounts:read'] as const;
    const key = await api.addKey({ scopes: [...scopes], chats: ['5491100000001'] });
    const { status } = await api.call('GET', '/api/stats', undefined, { 'x-api-key': key });
    expect(status).toBe(403);
    expect((await api.call('GET', '/api/stats?span=1y')).status).toBe(400);
  });
});
