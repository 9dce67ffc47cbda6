import { describe, expect, it } from 'vitest';
import { MAX_PATTERN_CHARS, regexProblem } from '../../../../router/src/core/routing/regex-problem.ts';

describe('regexProblem', () => {
  it('accepts what new RegExp accepts without flags', () => {
    for (const pattern of ['^hola', '(?:a|b)+', '\\-', '(?<name>x)', '[\\w-.]', '(?=a)', '(a)\\1', '😀']) {
      expect(regexProblem(pattern), pattern).toBeUndefined();
    }
  });

  it('says what is wrong with an invalid pattern', () => {
    expect(regexProblem('(')?.sentence).toMatch(/^is not a valid pattern: .*[^.]$/);
    expect(regexProblem('')?.sentence).toContain('must not be empty');
    expect(regexProblem('a'.repeat(MAX_PATTERN_CHARS))).toBeUndefined();
    expect(regexProblem('a'.repeat(MAX_PATTERN_CHARS + 1))?.sentence).toContain('at most 1000');
  });
});
