/** Upper bounds of the buckets of answer times, in milliseconds. Longer ones are in one more bucket. */
const BOUNDS_MS = [
  50, 100, 150, 200, 300, 400, 600, 800, 1_200, 1_600, 2_400, 3_200, 5_000, 7_500, 10_000, 15_000, 20_000,
  30_000, 45_000, 60_000, 90_000, 120_000, 300_000, 600_000, 3_600_000,
];

/** How many buckets a histogram of answer times has. Stored ones have as many. */
export const TIME_BUCKETS = BOUNDS_MS.length + 1;

/** The bucket of a time, from 0. */
export function bucketOf(ms: number): number {
  const bucket = BOUNDS_MS.findIndex((bound) => ms <= bound);
  return bucket < 0 ? BOUNDS_MS.length : bucket;
}

/**
 * The time below which this share of the counted times is, in milliseconds, as exact as the buckets are.
 * @param counts of each bucket; histograms of several nodes or minutes are added up before
 * @param share above 0, up to 1
 * @returns undefined: nothing was counted
 */
export function percentileMs(counts: readonly number[], share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let rank = share * total;
  for (const [bucket, count] of counts.entries()) {
    if (rank <= count) {
      const low = BOUNDS_MS[bucket - 1] ?? 0;
      const high = BOUNDS_MS[bucket] ?? low;
      return Math.round(low + ((high - low) * rank) / count);
    }
    rank -= count;
  }
  return BOUNDS_MS.at(-1);
}
