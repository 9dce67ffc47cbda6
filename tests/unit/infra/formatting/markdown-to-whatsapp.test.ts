import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { markdownToWhatsApp } from '../../../../router/src/infra/formatting/markdown-to-whatsapp.ts';

const toWhatsApp = (markdown: string) => markdownToWhatsApp(markdown, 'whatsapp');
const toPlain = (markdown: string) => markdownToWhatsApp(markdown, 'plain');

describe('markdownToWhatsApp', () => {
  it.each([
    ['bold', 'a **bold** word', 'a *bold* word'],
    ['bold with underscores', 'a __bold__ word', 'a *bold* word'],
    ['italic beside bold', '**a** and *b*', '*a* and _b_'],
    ['bold italic', '***both***', '_*both*_'],
    ['strike', '~~gone~~', '~gone~'],
    ['inline code', 'run `npm start`', 'run `npm start`'],
    ['a heading', '# Weather **report**\n\nSunny.', '*Weather report*\n\nSunny.'],
    ['a setext heading', 'Weather\n=======\nSunny.', '*Weather*\nSunny.'],
    ['a link', 'see [the site](https://example.com/a_b_c)', 'see the site (https://example.com/a_b_c)'],
    ['a link named as its address', '[https://example.com](https://example.com)', 'https://example.com'],
    ['a link in angle brackets', '<https://example.com>', 'https://example.com'],
    ['a picture', '![chart](https://example.com/c.png)', 'chart (https://example.com/c.png)'],
    ['a code block with a language', '```python\nx = 1\n```', '```\nx = 1\n```'],
    ['a code block that is not closed', '```js\nx', '```\nx\n```'],
    ['a list', '* one\n* two\n  * inner\n* three', '- one\n- two\n  - inner\n- three'],
    ['a numbered list', '3. three\n4. four', '3. three\n4. four'],
    ['tasks', '- [x] done\n- [ ] open', '- ☑ done\n- ☐ open'],
    ['a quote', '> **wise** words\n> more', '> *wise* words\n> more'],
    ['an escaped mark', String.raw`2 \* 3`, '2 * 3'],
    ['a line break of HTML', 'one<br>two', 'one\ntwo'],
    [
      'references of HTML',
      '**Tom &amp; Jerry** &#39;x&#39; &eacute; &unknown;',
      "*Tom & Jerry* 'x' é &unknown;",
    ],
    ['a reference alone', 'Tom &amp; Jerry', 'Tom & Jerry'],
    [
      'bold of HTML',
      'hello <b>there</b>, <i>you</i> and <span class="x">me</span>',
      'hello *there*, _you_ and me',
    ],
    [
      'a link of HTML',
      'see <a href="https://e.com/?a=1&amp;b=2">this</a>',
      'see this (https://e.com/?a=1&b=2)',
    ],
    [
      'paragraphs of HTML',
      '<p>Hello <b>Ann</b></p>\n<ul><li>one</li><li>two</li></ul>',
      'Hello *Ann*\n- one\n- two',
    ],
    ['a comment', 'a<!-- note -->b', 'ab'],
    ['powers beside bold', '**Note:** 2*3*4, a*b*c', '*Note:* 2*3*4, a*b*c'],
    ['bold over two lines', '**one\ntwo**', '*one*\n*two*'],
    ['bold inside a word, which WhatsApp would not show', '**un**likely', 'unlikely'],
    ['a narrow table', '| City | °C |\n| --- | --- |\n| Lima | 21 |', '```\nCity  °C\nLima  21\n```'],
    [
      'a wide table',
      '| City | Forecast of the day |\n| --- | --- |\n| **Lima** | sunny with some clouds over the hills |\n| Rome | rain |',
      '*Lima*\n- Forecast of the day: sunny with some clouds over the hills\n\n*Rome*\n- Forecast of the day: rain',
    ],
  ])('converts %s', (_, markdown, expected) => {
    expect(toWhatsApp(markdown)).toBe(expected);
    expect(toWhatsApp(expected)).toBe(expected);
  });

  it.each([
    ['words', 'Hello, how are you?'],
    ['line breaks and spaces', 'one\n two\n\n\n   three  \n'],
    ["WhatsApp's own marks", '*bold* _italic_ ~strike~ ```code``` `x`'],
    ['names with underscores', 'call transfer_from_all or a*b*c'],
    ['comparisons', 'a < b and c > d, List<String>'],
    ['powers', '2**10 = 1024 and 3**4 = 81'],
    ['squares', 'x**2 + y**2 = z**2, (a+b)**2 + c**2'],
    ['ranges', 'from 10~20~30 to 5~~6~~7'],
    ['names of elements', 'The <b> and </b> tags, and a <div>'],
    ['references in code', '`Tom &amp; Jerry`'],
    ['an ampersand', 'AT&T, Q&A; R & D, a=1&b=2'],
    ['a list', '- one\n- two\n\nend'],
    ['indented lines', 'gas:\n    used: 150000\n    price: 3'],
    ['a calculation', '2 * 3 * 4 = 24'],
    ['an address', 'https://example.com/a_b_c?d=[1]'],
    ['a rule', 'above\n\n---\n\nbelow'],
    ['brackets', 'see [1] and [note]'],
  ])('keeps %s', (_, text) => {
    expect(toWhatsApp(text)).toBe(text);
  });

  it.each(['>', '- ', '1. ', '> - '])('keeps a text that is nested too deeply with %j', (mark) => {
    const text = mark.repeat(5_000);
    expect(toWhatsApp(text)).toBe(text);
  });

  // Unlimited, the first four take from nine seconds to years.
  it.each([
    ['quote marks between blanks', `${`>${' '.repeat(4)}`.repeat(11)}x`],
    ['more quote marks between blanks', `${`>${' '.repeat(10)}`.repeat(11)}x`],
    ['emphasis that is never closed', '*a_'.repeat(20_000)],
    ['a mark and blanks', `*${' '.repeat(100_000)}`],
    ['open brackets', '['.repeat(100_000)],
    ['brackets and addresses', '[a]('.repeat(25_000)],
    ['empty items', '- a\n'.repeat(25_000)],
    ['headings', 'a\n-\n'.repeat(25_000)],
    ['words with dots before an at sign', `${'a.b-'.repeat(25_000)}@`],
    ['paragraphs of marks', `${'*_a'.repeat(150)}\n\n`.repeat(220)],
  ])('keeps %s, and does not stop the process', (_, text) => {
    const beganMs = performance.now();
    expect(toWhatsApp(text).length).toBeLessThanOrEqual(text.length);
    expect(performance.now() - beganMs).toBeLessThan(2_000);
  });

  it('converts the other paragraphs of a text with too many marks', () => {
    const text = `**one**\n\n${'*a_'.repeat(2_000)}\n\n**two**`;
    expect(toWhatsApp(text)).toBe(`*one*\n\n${'*a_'.repeat(2_000)}\n\n*two*`);
  });

  it('converts 100 kB of headings, lists, tables, quotes and code', () => {
    const block =
      '## Title\n\nSome **bold** and a [link](https://e.com/a).\n\n- one\n- two\n- three\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n> a quote\n\n```js\nx = 1\n```\n\nAnd a paragraph of words that go on for a while, so that it has some length, as in the answers of models.\n\n';
    const converted = toWhatsApp(block.repeat(400));
    expect(converted.startsWith('*Title*\n\nSome *bold* and a link (https://e.com/a).')).toBe(true);
    expect(converted).not.toContain('**');
  });

  it('removes all marks for the plain format', () => {
    const markdown = '# Title\n\n**bold** *it* ~~no~~ `code` [site](https://e.com)\n\n```js\nx\n```';
    expect(toPlain(markdown)).toBe('Title\n\nbold it no code site (https://e.com)\n\nx');
  });

  it('changes nothing as it is', () => {
    expect(markdownToWhatsApp('# Title', 'as-is')).toBe('# Title');
  });

  it('keeps any text without marks', () => {
    const plain = fc
      .stringMatching(/^[A-Za-z0-9 ,.?!áñ😀\n]{0,300}$/u)
      .filter((text) => !/^ *\d+\. /m.test(text));
    fc.assert(fc.property(plain, (text) => toWhatsApp(text) === text));
  });

  it('never fails, and loses no word', () => {
    // Without the names of languages after fences, and tables whose rows have too many cells: these are dropped.
    const piece = fc.constantFrom(
      ...['**', '*', '_', '~~w2~~', '`w2`', '```\n', '# ', '- ', '1. ', '> ', '\n', '\n\n', ' '],
      ...['[a](b)', '![', '<br>', 'word', 'w2'],
    );
    const words = (text: string) => text.match(/word|w2/g)?.length ?? 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const markdown = pieces.join('');
        expect(words(toWhatsApp(markdown))).toBeGreaterThanOrEqual(words(markdown));
      }),
    );
  });
});
