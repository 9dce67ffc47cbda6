import { type Said, say } from '../phrases.ts';

/** Longest pattern that a route may have, in characters. */
export const MAX_PATTERN_CHARS = 1_000;

/**
 * Checks a route's `regexFilter`: an ECMAScript pattern as `new RegExp(pattern)` takes it, without flags. That is the
 * form that people know; the `u` flag would refuse patterns such as `\-` that work everywhere else. Compiling is harmless
 * for any pattern; only matching can take long, and a TextMatcher bounds that.
 * @returns undefined when it is valid, else what is wrong; it continues the name of the field
 */
export function regexProblem(pattern: string): Said | undefined {
  if (pattern === '') return say('field.empty-pattern');
  if (pattern.length > MAX_PATTERN_CHARS) return say('field.max-chars', { max: MAX_PATTERN_CHARS });
  try {
    new RegExp(pattern);
    return undefined;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return say('field.invalid-pattern', { why: detail });
  }
}
