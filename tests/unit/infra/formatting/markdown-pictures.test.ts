import { describe, expect, it } from 'vitest';
import { markdownPictures } from '../../../../router/src/infra/formatting/markdown-lexer.ts';

const urls = (markdown: string) => markdownPictures(markdown).map(({ url }) => url);

describe('markdownPictures', () => {
  it('finds pictures in order, also in lists, links and tables', () => {
    const text =
      'Look: ![a](https://a.org/1.png)\n\n- ![b](https://a.org/2.png "title")\n\n[![c](https://a.org/3.png)](https://b.org)\n\n| x |\n| --- |\n| ![d](https://a.org/4.png) |';
    expect(urls(text)).toEqual([1, 2, 3, 4].map((n) => `https://a.org/${n}.png`));
    for (const { raw } of markdownPictures(text)) expect(text).toContain(raw);
  });

  it('finds none in code, in links and in plain text', () => {
    expect(urls('`![a](https://a.org)`\n\n```\n![a](https://a.org)\n```\n[a](https://a.org) !')).toEqual([]);
  });

  it('does not search texts that are too long', () => {
    expect(urls(`![a](https://a.org)${' x'.repeat(100_000)}`)).toEqual([]);
  });
});
