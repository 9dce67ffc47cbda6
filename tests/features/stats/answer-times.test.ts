import { describe, expect, it } from 'vitest';
import { bucketOf, percentileMs, TIME_BUCKETS } from '../../../router/src/features/stats/stats-recorder.ts';

const histogram = (times: readonly number[]) => {
  const counts = Array.from({ length: TIME_BUCKETS }, () => 0);
  for (const ms of times) counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + 1;
  return counts;
};

describe('percentileMs', () => {
  it('is as exact as the buckets, which are at most twice as long as the one before', () => {
    const times = Array.from({ length: 1_000 }, (_, n) => (n + 1) * 10);
    const counts = histogram(times);
    for (const share of [0.5, 0.95]) {
      const exact = times[share * 1_000 - 1] ?? 0;
      const found = percentileMs(counts, share) ?? 0;
      expect(Math.abs(found - exact) / exact).toBeLessThan(0.5);
    }
  });

  it('is the same for one histogram and for the sum of several', () => {
    const [one, two] = [histogram([120, 900, 4_000]), histogram([80, 100_000])];
    const sum = one.map((count, bucket) => count + (two[bucket] ?? 0));
    expect(percentileMs(sum, 0.5)).toBe(percentileMs(histogram([120, 900, 4_000, 80, 100_000]), 0.5));
  });

  it('is absent without times, and bounded for times that are out of range', () => {
    expect(percentileMs(histogram([]), 0.5)).toBeUndefined();
    expect(percentileMs([], 0.5)).toBeUndefined();
    expect(bucketOf(-5)).toBe(0);
    expect(bucketOf(1e12)).toBe(TIME_BUCKETS - 1);
    expect(percentileMs(histogram([1e12]), 0.95)).toBe(3_600_000);
  });
});
