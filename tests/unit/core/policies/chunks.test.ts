import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunksOf } from '../../../../router/src/core/policies/reply.ts';

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ');
const lengthOf = (text: string) => [...new Intl.Segmenter().segment(text)].length;

describe('chunksOf', () => {
  it('keeps a text that fits', () => {
    expect(chunksOf('short', 100)).toEqual(['short']);
    expect(chunksOf('', 100)).toEqual(['']);
  });

  it.each([
    ['paragraphs', `${words(15)}\n\n`, words(15)],
    ['lines', `${words(15)}\n`, words(15)],
    ['sentences', `${words(15)}. `, words(15)],
    ['sentences of Chinese', `${'字'.repeat(80)}。`, '字'.repeat(60)],
    ['words', 'x'.repeat(90).concat(' '), 'y'.repeat(70)],
  ])('cuts between %s', (_, first, second) => {
    expect(chunksOf(first + second, 150 - (first.length < 120 ? 20 : 0))).toEqual([first, second]);
  });

  it('prefers a paragraph to a later sentence', () => {
    const [first, second] = [`${'a'.repeat(50)}\n\n`, `${'b'.repeat(30)}. ${'c'.repeat(60)}`];
    expect(chunksOf(first + second, 110)[0]).toBe(first);
  });

  it('does not cut inside a code block', () => {
    const code = `\`\`\`\n${'x = 1\n\n'.repeat(10)}\`\`\`\n`;
    const text = `${words(8)}.\n\n${code}${words(8)}`;
    const chunks = chunksOf(text, 120);
    expect(chunks.join('')).toBe(text);
    expect(chunks).toContainEqual(code);
  });

  it('splits a code block that is longer than a chunk between lines, with fences around each part', () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}\n`);
    const chunks = chunksOf(`\`\`\`js\n${lines.join('')}\`\`\`\nend`, 100);
    for (const chunk of chunks.slice(0, -1)) {
      expect(chunk).toMatch(/^```\n(?:line \d+\n)+```\n$/);
      expect(chunk.length).toBeLessThanOrEqual(100);
    }
    expect(chunks.join('').replace(/```\n/g, '')).toBe(`${lines.join('')}end`);
  });

  it.each([
    ['bold', `*${words(40)}*`, /^\*word\d+(?: word\d+)*\*$/],
    ['a quote', `> ${words(40)}`, /^> word\d+(?: word\d+)*$/],
    ['bold in a quote', `> *${words(40)}*`, /^> \*word\d+(?: word\d+)*\*$/],
    ['bold italic', `_*${words(40)}*_`, /^_\*word\d+(?: word\d+)*\*_$/],
    ['code of a line', `\`${words(40)}\``, /^`word\d+(?: word\d+)*`$/],
    ['Markdown as it is', `**${words(40)}**`, /^\*\*word\d+(?: word\d+)*\*\*$/],
  ])('closes and opens %s around a split', (_, text, part) => {
    const chunks = chunksOf(text, 120).map((chunk) => chunk.trimEnd());
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks) {
      expect(chunk).toMatch(part);
      expect(chunk.length).toBeLessThanOrEqual(120);
    }
    expect(chunks.join(' ').match(/word\d+/g)).toEqual(text.match(/word\d+/g));
  });

  it('leaves marks that mark nothing', () => {
    const text = `a * b and 2*3 ${words(40)} x_y_z * end`;
    expect(chunksOf(text, 120).join('')).toBe(text);
  });

  it('splits a long line of marks in a time in proportion to its length', () => {
    const text = '*a* `b` _c '.repeat(20_000);
    expect(chunksOf(text, 100).length).toBeGreaterThan(2_000);
  });

  it.each([
    ['a quote', (length: number) => `> ${'*bo* '.repeat(length / 5)}`],
    ['italics', (length: number) => `_${'*b* '.repeat(length / 4)}x_`],
  ])('splits a long line of marks inside %s in a time in proportion to its length', (_what, textOf) => {
    const msOf = (texts: readonly string[]) => {
      const startedMs = performance.now();
      for (const text of texts) chunksOf(text, 100);
      return performance.now() - startedMs;
    };
    const eightShort = Array.from({ length: 8 }, () => textOf(80_000));
    const oneLong = [textOf(640_000)];
    msOf(eightShort); // compiles
    // As many characters; in proportion to the square of the length, one text takes more than four times as long.
    const ratios = Array.from({ length: 3 }, () => msOf(oneLong) / msOf(eightShort));
    expect(Math.min(...ratios)).toBeLessThan(3);
  });

  it('concatenates to the text, never exceeds the limit and splits no grapheme', () => {
    const grapheme = fc.constantFrom(
      'a',
      'é',
      'e\u0301',
      '👨‍👩‍👧‍👦',
      '🇪🇸',
      '🇩🇪',
      '字',
      'क्षि',
      '👍🏽',
      '.',
      ' ',
      '\n',
      '\r\n',
      '。',
    );
    const text = fc.array(grapheme, { maxLength: 900 }).map((all) => all.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 100, max: 300 }), (whole, maxChars) => {
        const chunks = chunksOf(whole, maxChars);
        expect(chunks.join('')).toBe(whole);
        for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(maxChars);
        expect(chunks.reduce((sum, chunk) => sum + lengthOf(chunk), 0)).toBe(lengthOf(whole));
      }),
    );
  });

  it('keeps every code block that fits whole', () => {
    const block = fc
      .array(fc.constantFrom('x\n', '\n', 'y = "a b".\n'), { maxLength: 8 })
      .map((all) => `\`\`\`\n${all.join('')}\`\`\`\n`);
    const prose = fc
      .array(fc.constantFrom('word ', 'end. ', '\n', '\n\n'), { maxLength: 60 })
      .map((all) => `${all.join('')}\n`);
    fc.assert(
      fc.property(fc.array(fc.oneof(block, prose), { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const chunks = chunksOf(text, 150);
        expect(chunks.join('')).toBe(text);
        for (const chunk of chunks) expect((chunk.match(/^```$/gm) ?? []).length % 2).toBe(0);
      }),
    );
  });
});
