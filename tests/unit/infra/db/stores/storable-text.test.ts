import { describe, expect, it } from 'vitest';
import {
  rowId,
  storableId,
  storableJson,
  storableOrNull,
} from '../../../../../router/src/infra/db/stores/rows.ts';

describe('storableOrNull', () => {
  it('cleans a text and returns null for an absent one', () => {
    expect(storableOrNull('a\0b')).toBe('ab');
    expect(storableOrNull(undefined)).toBeNull();
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
