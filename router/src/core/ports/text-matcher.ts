/**
 * Matches ECMAScript patterns away from the event loop, under a time budget. Never throws for a pattern or a text:
 * `timeout` is a result (the route does not match, with that reason in the trace).
 */
export interface TextMatcher {
  test(pattern: string, text: string): Promise<'match' | 'no-match' | 'timeout' | 'invalid'>;
}
