import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RowDigest } from '../../../router/src/features/backup/records.ts';

const row = fc.string().map((text) => text.replaceAll('\n', ' '));

function digestOf(rows: readonly string[], pieceBytes = Number.POSITIVE_INFINITY): RowDigest {
  const digest = new RowDigest();
  const bytes = Buffer.from(rows.map((text) => `${text}\n`).join(''));
  const step = Math.min(pieceBytes, bytes.length || 1);
  for (let at = 0; at < bytes.length; at += step) digest.add(bytes.subarray(at, at + step));
  return digest;
}

describe('RowDigest', () => {
  it('is the same for the same rows in any order and in any pieces', () => {
    fc.assert(
      fc.property(fc.array(row), fc.integer({ min: 1, max: 9 }), (rows, pieceBytes) => {
        const expected = digestOf(rows);
        const other = digestOf([...rows].reverse(), pieceBytes);
        expect([other.rows, other.digest]).toEqual([expected.rows, expected.digest]);
        expect(expected.rows).toBe(rows.length);
      }),
    );
  });

  it('differs when a row is changed, missing or repeated', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1 }), row, (rows, extra) => {
        const { digest } = digestOf(rows);
        expect(digestOf(rows.slice(1)).digest).not.toBe(digest);
        expect(digestOf([...rows, extra]).digest).not.toBe(digest);
        expect(digestOf([`${rows[0]}x`, ...rows.slice(1)]).digest).not.toBe(digest);
      }),
    );
  });
});
