import { describe, expect, it } from 'vitest';
import { errorText } from '../../../../../router/src/infra/agents/transport/error-text.ts';

describe('errorText', () => {
  it.each([
    ['plain words', ' no good \n', 'no good'],
    ['JSON, as it is', '{"error":"x"}', '{"error":"x"}'],
    ['nothing', '', ''],
    ['a web page', '<html><style>a{}</style><h1>502 Bad&nbsp;Gateway</h1></html>', '502 Bad Gateway'],
    ['unclosed markup', '<pre>oops', 'oops'],
  ])('shortens %s', (_case, body, expected) => {
    expect(errorText(body)).toBe(expected);
  });

  it('takes time linear in the length of hostile markup', () => {
    // In quadratic time these would exceed the time limit of a test.
    const pages = ['<script '.repeat(10_000), `<${'<title>'.repeat(10_000)}`, '<p '.repeat(10_000)];
    for (let time = 0; time < 500; time++) for (const page of pages) errorText(page);
  });
});
