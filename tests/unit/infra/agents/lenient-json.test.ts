import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ExactJsonError,
  NumberText,
  parseExactJson,
  readToken,
} from '../../../../router/src/infra/agents/lenient-json.ts';
import { anyCharacter } from '../../../support/any-text.ts';

describe('parseExactJson', () => {
  it('reads JSON, with numbers as they were written', () => {
    expect(parseExactJson('{"a": [1e3, -0x1F, 12345678901234567890.10], "b": null, "c": true}')).toEqual({
      a: [new NumberText('1e3'), new NumberText('-0x1F'), new NumberText('12345678901234567890.10')],
      b: null,
      c: true,
    });
  });

  it('reads what phones type: curly quotes, words without quotes, a comma before a closing bracket', () => {
    expect(parseExactJson('[“a”, two words, ‘b’, «c»,]')).toEqual(['a', 'two words', 'b', 'c']);
    expect(parseExactJson('{name: Ana, }')).toEqual({ name: 'Ana' });
  });

  it('reads any JSON without numbers as JSON.parse does', () => {
    const value = fc
      .jsonValue({ stringUnit: anyCharacter })
      .filter((json) => !/\d/.test(JSON.stringify(json)));
    fc.assert(
      fc.property(value, (json) => {
        expect(parseExactJson(JSON.stringify(json))).toEqual(json);
      }),
    );
  });

  it('defines a key such as __proto__ as an ordinary key', () => {
    const read = parseExactJson('{"__proto__": {"x": true}}');
    expect(Object.keys(read as object)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it.each(['', '[', '[1', '{"a"}', '{"a":}', '"open', '[] more', `${'['.repeat(40)}${']'.repeat(40)}`])(
    'refuses %j with a sentence',
    (text) => {
      expect(() => parseExactJson(text)).toThrow(ExactJsonError);
    },
  );

  it('ends with a value or an ExactJsonError for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'[]{},:"\'“”\\u12e .-xab') }), (text) => {
        try {
          parseExactJson(text);
        } catch (error) {
          expect(error).toBeInstanceOf(ExactJsonError);
        }
      }),
    );
  });
});

describe('readToken', () => {
  it('reads a quoted text, a bracketed value or a word from a position on', () => {
    expect(readToken('x "a b" c', 2)).toEqual({ token: 'a b', isQuoted: true, end: 7 });
    expect(readToken('[1, [2]] c', 0)).toEqual({ token: '[1, [2]]', isQuoted: false, end: 8 });
    expect(readToken('word next', 0)).toEqual({ token: 'word', isQuoted: false, end: 4 });
  });
});
