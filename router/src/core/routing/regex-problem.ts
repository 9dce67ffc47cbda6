/** Longest pattern that a route may have, in characters. */
export const MAX_PATTERN_CHARS = 1_000;

/**
 * Checks a route's `regexFilter`: an ECMAScript pattern as `new RegExp(pattern)` takes it, without flags. That is the
 * form that people know; the `u` flag would refuse patterns such as `\-` that work everywhere else. Compiling is harmless
 * for any pattern; only matching can take long, and a TextMatcher bounds that.
 * @returns undefined when it is valid, else a sentence that says what is wrong
 */
export function regexProblem(pattern: string): string | undefined {
  if (pattern === '') return 'regexFilter must not be empty; leave it out to match every text.';
  if (pattern.length > MAX_PATTERN_CHARS) {
    return `regexFilter must have at most ${MAX_PATTERN_CHARS} characters.`;
  }
  try {
    new RegExp(pattern);
    return undefined;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return `regexFilter is not a valid pattern: ${detail}.`;
  }
}
