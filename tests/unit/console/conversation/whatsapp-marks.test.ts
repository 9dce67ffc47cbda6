import { describe, expect, it } from 'vitest';
import { plainOf, type Span, spansOf } from '../../../../console/src/conversation/whatsapp-marks.ts';

/** Spans as HTML. */
function html(spans: readonly Span[]): string {
  return spans
    .map((span) => {
      if (span.kind === 'text') return span.text;
      return 'spans' in span
        ? `<${span.kind}>${html(span.spans)}</${span.kind}>`
        : `<${span.kind}>${span.text}</${span.kind}>`;
    })
    .join('');
}

describe('a text with the marks of WhatsApp', () => {
  it.each([
    [
      '*bold* and _on time_ and ~old~',
      '<bold>bold</bold> and <italic>on time</italic> and <strike>old</strike>',
    ],
    ['*bold _both_*', '<bold>bold <italic>both</italic></bold>'],
    ['call `npm *start*`', 'call <code>npm *start*</code>'],
    ['```\na * b\n```end', '<block>a * b\n</block>end'],
    ['(*a*), *b*!', '(<bold>a</bold>), <bold>b</bold>!'],
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['snake_case_name and a*b*c', 'snake_case_name and a*b*c'],
    ['*not closed', '*not closed'],
    ['*not\nclosed*', '*not\nclosed*'],
    ['** and `` and ``````', '** and `` and ``````'],
    ['* a *', '* a *'],
    ['', ''],
  ])('%j is shown as a phone shows it', (text, shown) => {
    expect(html(spansOf(text))).toBe(shown);
  });

  it('has only its words in a line of the list', () => {
    expect(plainOf('We open at *10 _sharp_* on `2 * 3` days, ~not~ 4 * 5')).toBe(
      'We open at 10 sharp on 2 * 3 days, not 4 * 5',
    );
  });

  it('loses no sign, and reads long rows of signs in linear time', () => {
    for (const sign of ['*', '_', '~', '`', '*a', '*_~']) {
      const text = sign.repeat(3_000);
      expect(html(spansOf(text)).replace(/<[^>]*>/g, '').length).toBeGreaterThan(0);
    }
  });
});
