import { describe, expect, it } from 'vitest';
import type { AbiType } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { block, lines } from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';

const uint: AbiType = { kind: 'uint', bits: 256 };
const text: AbiType = { kind: 'string' };
const pair: AbiType = {
  kind: 'tuple',
  fields: [
    { name: 'name', type: text },
    { name: 'age', type: uint },
  ],
};

describe('block', () => {
  it('writes short plain values on one line', () => {
    expect(block({ kind: 'array', item: uint }, [1n, 2n, 3n])).toBe('1, 2, 3');
    expect(block({ kind: 'array', item: text }, ['a', 'b'])).toBe('a, b');
    expect(block({ kind: 'array', item: text }, [])).toBe('(none)');
  });

  it('writes texts that are long or contain commas on numbered lines', () => {
    expect(block({ kind: 'array', item: text }, ['a, b', 'c'])).toBe('1. a, b\n2. c');
    const long = 'x'.repeat(40);
    expect(block({ kind: 'array', item: text }, [long, long])).toBe(`1. ${long}\n2. ${long}`);
  });

  it('writes a tuple as one line per field, indented within a list', () => {
    expect(block(pair, ['Ana', 30n])).toBe('name: Ana\nage: 30');
    expect(block({ kind: 'array', item: pair }, [['Ana', 30n]])).toBe('1. name: Ana\n  age: 30');
  });
});

describe('lines', () => {
  it('labels a field without a name with its number, and indents values of several lines', () => {
    expect(lines([{ name: '', type: uint }], [7n])).toEqual(['1: 7']);
    expect(lines([{ name: 'who', type: pair }], [['Ana', 30n]])).toEqual(['who:\n  name: Ana\n  age: 30']);
  });
});
