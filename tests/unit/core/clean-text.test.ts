import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanText } from '../../../router/src/core/text.ts';
import { anyText } from '../../support/any-text.ts';

describe('cleanText', () => {
  it('removes NUL and replaces lone surrogates, and nothing else', () => {
    expect(cleanText('a\0b\ud800c 😀')).toBe('ab\ufffdc 😀');
  });

  it('results in text that UTF-8 keeps, for any text, and is stable', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const stored = cleanText(text);
        expect(stored).not.toContain('\0');
        expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
        expect(cleanText(stored)).toBe(stored);
      }),
    );
  });
});
