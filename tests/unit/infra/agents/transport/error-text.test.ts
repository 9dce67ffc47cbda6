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

  it('is quick with hostile markup', () => {
    const startedMs = performance.now();
    errorText('<script '.repeat(100_000));
    errorText(`<${'<title>'.repeat(50_000)}`);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
});
