import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText, invalidAt, StreamDecoder } from '../../../runtime-server/text-decoder.ts';

describe('decodeText', () => {
  it('decodes any valid text unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // half of a surrogate pair has no bytes
        const valid = Buffer.from(text).toString();
        expect(decodeText(Buffer.from(valid))).toBe(valid);
        expect(invalidAt(Buffer.from(valid))).toBe(-1);
      }),
    );
  });

  it.each([
    ['ff', '\\xff'],
    ['61c3', 'a\\xc3'],
    ['e28241', '\\xe2\\x82A'],
    ['c080', '\\xc0\\x80'],
    ['eda080', '\\xed\\xa0\\x80'],
    ['f09f9880ff', '😀\\xff'],
  ])('writes the invalid bytes of %s as Python does', (hex, text) => {
    expect(decodeText(Buffer.from(hex, 'hex'))).toBe(text);
  });
});

describe('StreamDecoder', () => {
  it('decodes bytes in chunks as it decodes them at once', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 5 })), (chunks) => {
        const decoder = new StreamDecoder();
        const text = chunks.map((chunk) => decoder.decode(Buffer.from(chunk))).join('') + decoder.flush();
        expect(text).toBe(decodeText(Buffer.concat(chunks)));
      }),
      { numRuns: 1_000 },
    );
  });
});
