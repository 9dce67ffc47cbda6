import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FULL_BUCKET, takeToken, typingMsOf } from '../../../../router/src/core/policies/governor.ts';
import { runs } from '../../../support/property-runs.ts';

describe('takeToken', () => {
  it('takes a burst at once, then one token each time', () => {
    let bucket = FULL_BUCKET;
    const waits = [0, 0, 0, 100, 500, 500].map((nowMs) => {
      const taken = takeToken(bucket, { perSecond: 2, burst: 2 }, nowMs);
      bucket = taken.bucket;
      return taken.waitMs;
    });
    expect(waits).toEqual([0, 0, 500, 400, 0, 500]);
  });

  it('always takes one without a limit', () => {
    expect(takeToken({ tokens: 0, atMs: 5 }, { perSecond: 0, burst: 1 }, 5).waitMs).toBe(0);
  });

  it('never takes more than a burst and the rate in any time, and none when it waits', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 150 });
    const settings = fc.record({
      perSecond: fc.integer({ min: 1, max: 20 }),
      burst: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(pauses, settings, (all, { perSecond, burst }) => {
        let bucket = FULL_BUCKET;
        let nowMs = 0;
        const taken: number[] = [];
        for (const pause of all) {
          nowMs += pause;
          const next = takeToken(bucket, { perSecond, burst }, nowMs);
          bucket = next.bucket;
          expect(bucket.tokens).toBeGreaterThanOrEqual(0);
          if (next.waitMs === 0) taken.push(nowMs);
          else expect(takeToken(bucket, { perSecond, burst }, nowMs + next.waitMs).waitMs).toBe(0);
        }
        for (const [index, fromMs] of taken.entries()) {
          for (const [after, untilMs] of taken.slice(index).entries()) {
            expect(after + 1).toBeLessThanOrEqual(burst + ((untilMs - fromMs) / 1_000) * perSecond + 1e-3);
          }
        }
      }),
      runs(100),
    );
  });
});

describe('typingMsOf', () => {
  it.each([
    ['a short text', 'x'.repeat(40), 10, 4_000],
    ['a long text, cut', 'x'.repeat(400), 10, 8_000],
    ['no text', '', 10, 0],
    ['any text when it is off', 'x'.repeat(40), 0, 0],
  ])('is for %s', (_, text, charsPerSecond, ms) => {
    expect(typingMsOf(text, { charsPerSecond, maxMs: 8_000 })).toBe(ms);
  });
});
