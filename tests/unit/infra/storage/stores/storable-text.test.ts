import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  rowId,
  storableId,
  storableJson,
  storableOrNull,
  storableText,
} from '../../../../../router/src/infra/storage/stores/storable-text.ts';
import { anyText } from '../../../../support/any-text.ts';

describe('storableText', () => {
  it('removes NUL and replaces lone surrogates, and nothing else', () => {
    expect(storableText('a\0b\ud800c 😀')).toBe('ab\ufffdc 😀');
    expect(storableOrNull(undefined)).toBeNull();
  });

  it('results in text that UTF-8 keeps, for any text, and is stable', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const stored = storableText(text);
        expect(stored).not.toContain('\0');
        expect(Buffer.from(stored, 'utf8').toString('utf8')).toBe(stored);
        expect(storableText(stored)).toBe(stored);
      }),
    );
  });
});

describe('storableId', () => {
  it('keeps ids up to 256 characters', () => {
    expect(storableId('3EB0')).toBe('3EB0');
    expect(storableId('x'.repeat(256))).toHaveLength(256);
  });

  it('shortens a longer id to its start and a hash, always the same and different for another id', () => {
    const long = 'x'.repeat(5_000);
    expect(storableId(long).length).toBeLessThan(256);
    expect(storableId(long)).toBe(storableId(long));
    expect(storableId(long)).not.toBe(storableId(`${long}y`));
  });
});

describe('storableJson', () => {
  it('makes each string of a value storable; absent is null', () => {
    expect(storableJson({ a: ['b\0', 1, null] })).toBe('{"a":["b",1,null]}');
    expect(storableJson(undefined)).toBeNull();
  });
});

describe('rowId', () => {
  it('is a whole number of at most 18 digits, else undefined', () => {
    expect(rowId('42')).toBe(42n);
    for (const text of ['', '-1', '1.5', 'x', '1'.repeat(19), ' 1'])
      expect(rowId(text), text).toBeUndefined();
  });
});
