import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutTo, oneLine, widthOf } from '../../../../router/src/cli/output/table.ts';

describe('oneLine', () => {
  it('removes what a message could move the cursor or change the title with', () => {
    expect(oneLine('hi\u001b[2J\nthere \u202eoruen\u0007')).toBe('hi\ufffd[2J there \ufffdoruen\ufffd');
  });
});

describe('cutTo', () => {
  it('never fills more columns than allowed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
        expect(widthOf(cutTo(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it('returns a text that fits as it is', () => {
    expect(cutTo('\u001b[2mab\u001b[0m', 2)).toBe('\u001b[2mab\u001b[0m');
  });
});
