import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../router/src/core/clock.ts';

const highest = () => 0.999_999_999;
const lowest = () => 0;

describe('backoffMs', () => {
  it('doubles the ceiling with each attempt up to the longest wait', () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8, 50].map((attempt) =>
      backoffMs({ attempt, random: highest, baseMs: 500, maxMs: 30_000 }),
    );
    expect(ceilings).toEqual([499, 999, 1999, 3999, 7999, 15_999, 29_999, 29_999, 29_999]);
  });

  it('spreads waits down to zero, so that concurrent failures do not retry together', () => {
    expect(backoffMs({ attempt: 5, random: lowest })).toBe(0);
    expect(backoffMs({ attempt: 5, random: () => 0.5 })).toBe(4_000);
  });

  it('waits at least as long as Retry-After says, up to the cap', () => {
    expect(backoffMs({ attempt: 1, retryAfterMs: 7_000, random: lowest })).toBe(7_000);
    expect(backoffMs({ attempt: 9, retryAfterMs: 7_000, random: highest })).toBe(7_700);
    expect(backoffMs({ attempt: 1, retryAfterMs: 3_600_000, random: lowest })).toBe(120_000);
    expect(backoffMs({ attempt: 1, retryAfterMs: 3_600_000, random: lowest, maxRetryAfterMs: 5_000 })).toBe(
      5_000,
    );
  });

  it('ignores a Retry-After of zero or less', () => {
    expect(backoffMs({ attempt: 1, retryAfterMs: 0, random: () => 0.5 })).toBe(250);
    expect(backoffMs({ attempt: 1, retryAfterMs: -5, random: () => 0.5 })).toBe(250);
  });

  it('gives a whole number within its bounds for any input', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer(), fc.double()),
        fc.option(fc.double(), { nil: undefined }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, retryAfterMs, draw) => {
          const waitMs = backoffMs({ attempt, retryAfterMs, random: () => draw });
          expect(Number.isInteger(waitMs)).toBe(true);
          expect(waitMs).toBeGreaterThanOrEqual(0);
          expect(waitMs).toBeLessThanOrEqual(132_000);
        },
      ),
    );
  });
});
