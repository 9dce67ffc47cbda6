import { describe, expect, it } from 'vitest';
import type { AbiType } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import {
  exampleJson,
  exampleValue,
} from '../../../../../../router/src/infra/agents/abi/input/abi-example.ts';

const uint: AbiType = { kind: 'uint', bits: 8 };
const named: AbiType = {
  kind: 'tuple',
  fields: [
    { name: 'name', type: { kind: 'string' } },
    { name: 'age', type: uint },
  ],
};

describe('an example', () => {
  it('has two items in a list, or one when the item is a list or a tuple', () => {
    expect(exampleValue({ kind: 'array', item: uint })).toEqual([1n, 2n]);
    expect(exampleValue({ kind: 'array', item: { kind: 'array', item: uint } })).toEqual([[1n, 2n]]);
    expect(exampleValue({ kind: 'array', item: uint, length: 4 })).toEqual([1n, 2n, 3n, 4n]);
  });

  it('is valid JSON, an object for a tuple with names', () => {
    expect(JSON.parse(exampleJson(named))).toEqual({ name: 'some words', age: 2 });
    expect(JSON.parse(exampleJson({ kind: 'array', item: named }))).toHaveLength(1);
  });

  it('is cut off with … when an array is long or its values are many', () => {
    expect(exampleJson({ kind: 'array', item: uint, length: 50 })).toBe('[1, 2, 3, …]');
    const wide: AbiType = {
      kind: 'tuple',
      fields: Array(1_000).fill({ name: '', type: { kind: 'string' } }),
    };
    expect(exampleJson(wide).length).toBeLessThan(5_000);
  });
});
