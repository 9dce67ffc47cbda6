import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type AccountCounts,
  PostgresStats,
  type Stats,
} from '../../../router/src/features/stats/postgres-stats.ts';
import { bucketOf, TIME_BUCKETS } from '../../../router/src/features/stats/stats-recorder.ts';
import { MemoryStats } from '../../doubles/memory-stats.ts';
import { createTestDatabase } from '../../support/database.ts';

const adapters: Array<[string, () => Promise<Stats>]> = [
  ['memory', async () => new MemoryStats()],
  [
    'PostgreSQL',
    async () => {
      const database = await createTestDatabase();
      onTestFinished(() => database.drop());
      return new PostgresStats(database.open());
    },
  ],
];

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const noonMs = Date.UTC(2026, 0, 31, 12);

function counts(accountId: string, answersMs: readonly number[]): AccountCounts {
  const times = Array.from({ length: TIME_BUCKETS }, () => 0);
  for (const ms of answersMs) times[bucketOf(ms)] = (times[bucketOf(ms)] ?? 0) + 1;
  return { accountId, messages: answersMs.length + 1, answers: answersMs.length, failures: 1, times };
}

describe.each(adapters)('counts in %s', (_name, open) => {
  it('add up what several nodes report of one minute', async () => {
    const stats = await open();
    await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        stats.add(noonMs + 10_000 * n, [counts('a', [700, 80]), counts('b', [80])], []),
      ),
    );
    const [all, ...others] = await stats.read({ fromMs: noonMs, stepMs: MINUTE_MS });
    expect(others).toEqual([]);
    expect(all).toMatchObject({ atMs: noonMs, messages: 25, answers: 15, failures: 10 });
    expect([all?.times[bucketOf(700)], all?.times[bucketOf(80)]]).toEqual([5, 10]);
    expect(await stats.read({ accountId: 'b', fromMs: noonMs, stepMs: MINUTE_MS })).toMatchObject([
      { messages: 10, answers: 5 },
    ]);
  });

  it('give points of minutes, of several minutes and of hours, oldest first', async () => {
    const stats = await open();
    for (const minute of [125, 0, 59, 3, 4])
      await stats.add(noonMs + minute * MINUTE_MS, [counts('a', [80])], []);
    const points = async (stepMs: number, fromMs = noonMs) =>
      (await stats.read({ fromMs, stepMs })).map(({ atMs, answers }) => [
        (atMs - noonMs) / MINUTE_MS,
        answers,
      ]);
    expect(await points(MINUTE_MS)).toEqual([0, 3, 4, 59, 125].map((minute) => [minute, 1]));
    expect(await points(10 * MINUTE_MS)).toEqual([
      [0, 3],
      [50, 1],
      [120, 1],
    ]);
    expect(await points(6 * HOUR_MS)).toEqual([[0, 5]]);
    expect(await points(MINUTE_MS, noonMs + HOUR_MS)).toEqual([[125, 1]]);
  });

  it('add up what several nodes report of a route, hour by hour', async () => {
    const stats = await open();
    const add = (hour: number, routeId: string, messages: number, failures: number) =>
      stats.add(noonMs + hour * HOUR_MS + 59 * MINUTE_MS, [], [{ routeId, messages, failures }]);
    await Promise.all([add(0, 'r', 3, 1), add(0, 'r', 4, 0), add(2, 'r', 10, 2), add(2, 's', 1, 0)]);
    const from = async (hour: number) =>
      (await stats.ofRoutes(noonMs + (hour + 0.5) * HOUR_MS)).sort((one, other) =>
        one.routeId.localeCompare(other.routeId),
      );
    const s = { routeId: 's', messages: 1, failures: 0 };
    expect(await from(0)).toEqual([{ routeId: 'r', messages: 17, failures: 3 }, s]);
    expect(await from(1)).toEqual([{ routeId: 'r', messages: 10, failures: 2 }, s]);
    expect(await from(3)).toEqual([]);
  });
});
