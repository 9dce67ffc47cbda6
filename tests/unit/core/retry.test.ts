import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mintWaMessageId } from '../../../router/src/core/delivery/message-id.ts';
import { backoffMs } from '../../../router/src/core/retry.ts';

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

describe('mintWaMessageId', () => {
  it('has the form of the ids that Baileys creates', () => {
    expect(mintWaMessageId(new Uint8Array([0, 1, 15, 16, 127, 128, 254, 255, 9]))).toBe(
      '3EB000010F107F80FEFF09',
    );
  });

  it('keeps every random bit', () => {
    const bytes = fc.uint8Array({ minLength: 9, maxLength: 9 });
    fc.assert(
      fc.property(bytes, (random) => {
        const id = mintWaMessageId(random);
        expect(id).toMatch(/^3EB0[0-9A-F]{18}$/);
        expect(Uint8Array.from(Buffer.from(id.slice(4), 'hex'))).toEqual(random);
      }),
    );
  });

  it('refuses another number of bytes', () => {
    expect(() => mintWaMessageId(new Uint8Array(8))).toThrow(RangeError);
  });
});
