import { describe, expect, it } from 'vitest';
import {
  AbiDefinitionError,
  type AbiParam,
  type AbiType,
  areNamed,
  headBytes,
  isDynamic,
  namedTypeText,
  shortened,
  typeCounter,
  typeOf,
  typeText,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';

const text: AbiType = { kind: 'string' };
const param = (name: string, type: AbiType): AbiParam => ({ name, type });
const tuple = (...fields: AbiParam[]): AbiType => ({ kind: 'tuple', fields });

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

  it('resolves a name that is not elementary, also as the item of an array', () => {
    const user = tuple(param('name', text));
    expect(typeOf('User[2]', (name) => (name === 'User' ? user : undefined))).toEqual({
      kind: 'array',
      item: user,
      length: 2,
    });
    expect(() => typeOf('Person', () => undefined)).toThrow("'Person' is not an ABI type");
  });
});

describe('the text of a type', () => {
  const users = typeOf('User[2][]', () => tuple(param('name', text), param('', { kind: 'uint', bits: 256 })));

  it('is canonical for selectors, without names', () => {
    expect(typeText(users)).toBe('(string,uint256)[2][]');
    expect(typeText({ kind: 'fixedBytes', size: 4 })).toBe('bytes4');
  });

  it('contains the names of the fields for people', () => {
    expect(namedTypeText(users)).toBe('(string name, uint256)[2][]');
  });
});

describe('the place of a value in the encoding', () => {
  it.each<[string, AbiType, boolean, number]>([
    ['a number', typeOf('uint8'), false, 32],
    ['text', text, true, 32],
    ['a fixed array', typeOf('bool[3]'), false, 96],
    ['a fixed array of fixed arrays', typeOf('bool[3][2]'), false, 192],
    ['a fixed array of text', typeOf('string[3]'), true, 32],
    ['a list', typeOf('bool[]'), true, 32],
    ['a tuple of numbers', tuple(param('a', typeOf('bool')), param('b', typeOf('int8[2]'))), false, 96],
    ['a tuple with text', tuple(param('a', typeOf('bool')), param('b', text)), true, 32],
  ])('of %s', (_name, type, expectedDynamic, expectedBytes) => {
    expect([isDynamic(type), headBytes(type)]).toEqual([expectedDynamic, expectedBytes]);
  });
});

describe('typeCounter', () => {
  it('counts the tuple, its fields and the arrays around them', () => {
    const countOf = typeCounter();
    expect(countOf(text)).toBe(1);
    expect(countOf(typeOf('bool[2][]'))).toBe(3);
    expect(countOf({ kind: 'array', item: tuple(param('a', text), param('b', text)) })).toBe(4);
  });

  it('counts a chain of structs in linear time although it stands for more than 2^60 types', () => {
    let type = tuple(param('a', text));
    for (let level = 0; level < 60; level += 1) type = tuple(param('a', type), param('b', type));
    expect(typeCounter()(type)).toBeGreaterThan(2 ** 60);
  });
});

it('areNamed needs a name for each field, none of them twice', () => {
  expect(areNamed([])).toBe(true);
  expect(areNamed([param('a', text), param('b', text)])).toBe(true);
  expect(areNamed([param('a', text), param('', text)])).toBe(false);
  expect(areNamed([param('a', text), param('a', text)])).toBe(false);
});

it('shortened keeps 40 characters and cuts the 41st', () => {
  expect(shortened('x'.repeat(40))).toBe('x'.repeat(40));
  expect(shortened('x'.repeat(41))).toBe(`${'x'.repeat(39)}…`);
});
