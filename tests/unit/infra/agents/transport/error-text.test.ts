import { describe, expect, it } from 'vitest';
import { errorText } from '../../../../../router/src/infra/agents/transport/error-text.ts';
import { growth, MAX_LINEAR_GROWTH } from '../../../../support/growth.ts';

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

  it.each<[string, (size: number) => string]>([
    ['open scripts', (size) => '<script '.repeat(size)],
    ['titles in a tag', (size) => `<${'<title>'.repeat(size)}`],
  ])('takes linear time for many %s', async (_name, markup) => {
    expect(await growth((size) => errorText(markup(size)), 12_500)).toBeLessThan(MAX_LINEAR_GROWTH);
  });
});
