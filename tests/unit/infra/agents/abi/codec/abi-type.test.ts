import { describe, expect, it } from 'vitest';
import {
  AbiDefinitionError,
  type AbiParam,
  type AbiType,
  areNamed,
  typeOf,
  typeText,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';

const text: AbiType = { kind: 'string' };
const param = (name: string, type: AbiType): AbiParam => ({ name, type });

describe('typeOf', () => {
  it.each([
    ['uint', { kind: 'uint', bits: 256 }],
    ['int', { kind: 'int', bits: 256 }],
    ['uint8', { kind: 'uint', bits: 8 }],
    ['int248', { kind: 'int', bits: 248 }],
    ['bytes', { kind: 'bytes' }],
    ['bytes1', { kind: 'fixedBytes', size: 1 }],
    ['bytes32', { kind: 'fixedBytes', size: 32 }],
    ['bool[1000000]', { kind: 'array', item: { kind: 'bool' }, length: 1_000_000 }],
    // The brackets on the right are the outer array.
    ['int8[2][]', { kind: 'array', item: { kind: 'array', item: { kind: 'int', bits: 8 }, length: 2 } }],
  ])('reads %s', (written, expected) => {
    expect(typeOf(written)).toEqual(expected);
  });

  it.each([
    'uint0',
    'uint7',
    'uint08',
    'uint264',
    'bytes0',
    'bytes33',
    'bytes01',
    'Uint8',
    'fixed128x18',
    'uint8[',
    'uint8[-1]',
    'uint8[1]x',
    '[2]',
    '',
  ])('refuses %j', (written) => {
    expect(() => typeOf(written)).toThrow(AbiDefinitionError);
    expect(() => typeOf(written)).toThrow('is not an ABI type');
  });

  it.each(['0', '1000001', '999999999'])('refuses an array of the length %s', (length) => {
    expect(() => typeOf(`bool[${length}]`)).toThrow(
      `an array's length must be from 1 to 1000000, not ${length}`,
    );
  });

  it('reads 16 nested arrays and refuses 17', () => {
    expect(typeText(typeOf(`bool${'[]'.repeat(16)}`))).toBe(`bool${'[]'.repeat(16)}`);
    expect(() => typeOf(`bool${'[]'.repeat(17)}`)).toThrow('is nested deeper than 16 arrays');
  });
});

it('areNamed needs a name for each field, none of them twice', () => {
  expect(areNamed([])).toBe(true);
  expect(areNamed([param('a', text), param('b', text)])).toBe(true);
  expect(areNamed([param('a', text), param('', text)])).toBe(false);
  expect(areNamed([param('a', text), param('a', text)])).toBe(false);
});
