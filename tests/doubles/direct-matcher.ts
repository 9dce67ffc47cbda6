import type { TextMatcher } from '../../router/src/core/ports/converters.ts';

/** Matches patterns in this thread, without a time limit. */
export const directMatcher: TextMatcher = {
  test: async (pattern, text) => (new RegExp(pattern).test(text) ? 'match' : 'no-match'),
};
