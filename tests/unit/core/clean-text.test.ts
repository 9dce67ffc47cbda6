import { describe, expect, it } from 'vitest';
import { cleanText } from '../../../router/src/core/clean-text.ts';

describe('cleanText', () => {
  it('removes NUL, which PostgreSQL rejects', () => {
    expect(cleanText('a\0b\0')).toBe('ab');
  });

  it('replaces each half of a surrogate pair, and keeps whole pairs', () => {
    expect(cleanText('x\uD83Dy\uDE00z 😀')).toBe('x\uFFFDy\uFFFDz 😀');
  });

  it('changes nothing when it is applied again', () => {
    const clean = cleanText('\0\uD800 text \uDC00');
    expect(cleanText(clean)).toBe(clean);
  });
});
