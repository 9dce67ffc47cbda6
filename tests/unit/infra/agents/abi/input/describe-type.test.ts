import { describe, expect, it } from 'vitest';
import type { AbiType } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import {
  count,
  expectation,
  rangeOf,
} from '../../../../../../router/src/infra/agents/abi/input/describe-type.ts';

describe('expectation', () => {
  it('names the range of whole numbers, large ones as powers of two', () => {
    expect(expectation({ kind: 'uint', bits: 8 })).toContain('0 to 255');
    expect(expectation({ kind: 'int', bits: 16 })).toContain('-32768 to 32767');
    expect(expectation({ kind: 'uint', bits: 256 })).toContain('0 to 2^256-1');
    expect(expectation({ kind: 'int', bits: 256 })).toContain('-2^255 to 2^255-1');
  });

  it('contains an example for a list or tuple, unless it would be long', () => {
    expect(expectation({ kind: 'array', item: { kind: 'uint', bits: 8 } })).toContain('[1, 2]');
    const fields = Array.from({ length: 20 }, (_, n) => ({
      name: `f${n}`,
      type: { kind: 'string' } as AbiType,
    }));
    const wide = expectation({ kind: 'tuple', fields });
    expect(wide).toContain('f0, f1');
    expect(wide).not.toContain('some words');
  });
});

it('rangeOf is the least and the greatest number of a type', () => {
  expect(rangeOf({ kind: 'uint', bits: 8 })).toEqual([0n, 255n]);
  expect(rangeOf({ kind: 'int', bits: 8 })).toEqual([-128n, 127n]);
});

it('count adds the plural s', () => {
  expect([count(1, 'item'), count(2, 'item'), count(0, 'item')]).toEqual(['1 item', '2 items', '0 items']);
});
