import { describe, expect, it } from 'vitest';
import { bucketOf, StatsRecorder } from '../../../router/src/features/stats/stats-recorder.ts';
import { MemoryStats } from '../../doubles/memory-stats.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/quiet-log.ts';

function setup() {
  const stats = new MemoryStats();
  const clock = new FakeClock();
  const recorder = new StatsRecorder(stats, clock, recordingLog());
  recorder.start();
  return { stats, clock, recorder };
}

describe('StatsRecorder', () => {
  it('stores what happened in an account once a minute, and nothing when nothing happened', async () => {
    const { stats, clock, recorder } = setup();
    await clock.advanceMs(120_000);
    expect(stats.added).toEqual([]);
    recorder.received('a');
    recorder.received('a');
    recorder.received('b');
    recorder.ended({ state: 'answered' }, 'a', clock.now() - 700);
    recorder.ended({ state: 'dead' }, 'a', clock.now());
    recorder.ended({ state: 'ignored' }, 'c', clock.now());
    await clock.advanceMs(60_000);
    expect(stats.added.map(({ accountId, messages }) => [accountId, messages])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    const [a] = stats.added;
    expect([a?.answers, a?.failures, a?.times[bucketOf(700)]]).toEqual([1, 1, 1]);
    await clock.advanceMs(120_000);
    expect(stats.added).toHaveLength(2);
  });

  it('counts the messages and failures of each route, with those that got no answer', async () => {
    const { stats, clock, recorder } = setup();
    stats.failure = new Error('away');
    recorder.ended({ state: 'answered', routeId: 'r' }, 'a', clock.now());
    await clock.advanceMs(60_000);
    stats.failure = undefined;
    recorder.ended({ state: 'dead', routeId: 'r' }, 'a', clock.now());
    recorder.ended({ state: 'ignored', routeId: 'r' }, 'a', clock.now());
    recorder.ended({ state: 'ignored', routeId: 's' }, 'a', clock.now());
    recorder.ended({ state: 'ignored' }, 'a', clock.now());
    await clock.advanceMs(60_000);
    expect(stats.addedOfRoutes.map(({ atMs: _, ...counts }) => counts)).toEqual([
      { routeId: 'r', messages: 3, failures: 1 },
      { routeId: 's', messages: 1, failures: 0 },
    ]);
  });

  it('keeps the counts while the database is unavailable', async () => {
    const { stats, clock, recorder } = setup();
    stats.failure = new Error('away');
    recorder.ended({ state: 'answered' }, 'a', clock.now() - 700);
    await clock.advanceMs(60_000);
    recorder.ended({ state: 'answered' }, 'a', clock.now() - 700);
    stats.failure = undefined;
    await clock.advanceMs(60_000);
    expect(stats.added.map(({ answers, times }) => [answers, times[bucketOf(700)]])).toEqual([[2, 2]]);
  });

  it('stores the counts when the service stops', async () => {
    const { stats, clock, recorder } = setup();
    recorder.received('a');
    await recorder.stop();
    await settle();
    expect(stats.added).toMatchObject([{ accountId: 'a', messages: 1 }]);
    expect(clock.sleeping).toBe(0);
  });
});
