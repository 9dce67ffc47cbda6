import { describe, expect, it } from 'vitest';
import {
  type AbiType,
  loadCodec,
  typeOf,
  viemParameter,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';

const codec = await loadCodec();
const vitalik = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

it('loadCodec loads the codec once', async () => {
  expect(await loadCodec()).toBe(codec);
});

describe('the codec', () => {
  it('computes the selectors of well-known functions', () => {
    expect(codec.selectorOf('transfer(address,uint256)')).toBe('0xa9059cbb');
    expect(codec.selectorOf('balanceOf(address)')).toBe('0x70a08231');
  });

  it.each([vitalik.toLowerCase(), `0x${vitalik.slice(2).toUpperCase()}`, vitalik.toUpperCase()])(
    'returns the checksum of the address %s',
    (address) => {
      expect(codec.checksum(address)).toBe(vitalik);
    },
  );

  it('encodes without a selector, and no parameters as no bytes', () => {
    expect(codec.encode([], [])).toBe('0x');
    expect(codec.encode([{ type: 'uint8' }], [5n])).toBe(`0x${'5'.padStart(64, '0')}`);
  });
});

describe('viemParameter', () => {
  const user: AbiType = {
    kind: 'tuple',
    fields: [
      { name: 'name', type: { kind: 'string' } },
      { name: '', type: typeOf('uint8[2]') },
    ],
  };
  const components = [
    { name: 'name', type: 'string' },
    { name: '', type: 'uint8[2]' },
  ];

  it.each([
    ['a plain type', typeOf('bytes4'), { name: 'x', type: 'bytes4' }],
    ['an array', typeOf('int8[2][]'), { name: 'x', type: 'int8[2][]' }],
    ['a tuple', user, { name: 'x', type: 'tuple', components }],
    ['an array of tuples', typeOf('U[2][]', () => user), { name: 'x', type: 'tuple[2][]', components }],
  ])('writes %s as viem does', (_name, type, expected) => {
    expect(viemParameter({ name: 'x', type })).toEqual(expected);
  });

  it('writes a tuple within a tuple, with its own array', () => {
    const outer: AbiType = { kind: 'tuple', fields: [{ name: 'users', type: typeOf('U[]', () => user) }] };
    const parameter = viemParameter({ name: 'x', type: outer });
    expect(parameter).toEqual({
      name: 'x',
      type: 'tuple',
      components: [{ name: 'users', type: 'tuple[]', components }],
    });
  });
});
