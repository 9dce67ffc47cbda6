import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bare, bigintIn, bytesIn } from '../../../../../../router/src/infra/agents/abi/codec/abi-value.ts';

it('bare removes spaces around a text and invisible characters within it', () => {
  expect(bare(' \u200ea\u200bb\ufeff ')).toBe('ab');
});

describe('bigintIn', () => {
  it('reads any whole number of the size of a type, decimal or hexadecimal', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 255n), max: 2n ** 256n - 1n }), (number) => {
        expect(bigintIn(String(number))).toBe(number);
        const hex = `${number < 0n ? '-' : ''}0x${(number < 0n ? -number : number).toString(16)}`;
        expect(bigintIn(hex)).toBe(number);
      }),
    );
  });

  it('reads powers of ten, as people write amounts', () => {
    expect(bigintIn('1e18')).toBe(10n ** 18n);
    expect(bigintIn('1.5E+3')).toBe(1_500n);
    expect(bigintIn('-2e2')).toBe(-200n);
  });

  it('reads the minus signs of keyboards, a plus and leading zeros', () => {
    expect(bigintIn('\u22125')).toBe(-5n);
    expect(bigintIn('\u20135')).toBe(-5n);
    expect(bigintIn('+007')).toBe(7n);
    expect(bigintIn(`${'0'.repeat(200)}1`)).toBe(1n);
  });

  it.each(['', '-', '0x', 'ff', '1.5', '1.5e0', '1e', '1e99', '1 2', 'x', '1'.repeat(79)])(
    'returns undefined for %j',
    (text) => {
      expect(bigintIn(text)).toBeUndefined();
    },
  );
});

describe('bytesIn', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((array) => Buffer.from(array));

  it('reads hex, base64 and URL-safe base64 byte for byte', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(bytesIn(`0x${value.toString('hex')}`, undefined)).toEqual(value);
        expect(bytesIn(`base64:${value.toString('base64')}`, 0)).toEqual(value);
        expect(bytesIn(`base64:${value.toString('base64url')}`, 0)).toEqual(value);
      }),
    );
  });

  it('reads UTF-8 after text:, with spaces', () => {
    expect(bytesIn('text: ñ', undefined)).toEqual(Buffer.from(' ñ'));
  });

  it('reads hex digits alone as hex only when they have the size of the type', () => {
    expect(bytesIn('abcd', 2)).toEqual(Buffer.from('abcd', 'hex'));
    expect(bytesIn('abcd', undefined)).toBe('ambiguous');
    expect(bytesIn('abcd', 3)).toEqual(Buffer.from('abcd', 'base64'));
  });

  it.each(['0xabc', '0xzz', 'not base64!', 'a'])('returns undefined for %j', (text) => {
    expect(bytesIn(text, undefined)).toBeUndefined();
  });
});
