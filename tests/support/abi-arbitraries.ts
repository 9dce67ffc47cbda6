import fc from 'fast-check';
import { getAddress } from 'viem/utils';
import type { AbiValue } from '../../router/src/infra/agents/abi/codec/abi-type.ts';
import { anyText } from './any-text.ts';

/** A random type: its text with names, as an ABI writes it, and values of it. */
export interface RandomType {
  text: string;
  value: fc.Arbitrary<AbiValue>;
}

const hex = (min: number, max: number) =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

/** Whole numbers of a range, its ends and small ones often among them. */
function wholes(least: bigint, most: bigint): fc.Arbitrary<AbiValue> {
  return fc.oneof(fc.constantFrom(least, most, 0n, 1n), fc.bigInt({ min: least, max: most }));
}

const bits = fc.integer({ min: 1, max: 32 }).map((bytes) => bytes * 8);

const elementary: fc.Arbitrary<RandomType> = fc.oneof(
  bits.map((size) => ({ text: `uint${size}`, value: wholes(0n, 2n ** BigInt(size) - 1n) })),
  bits.map((size) => ({
    text: `int${size}`,
    value: wholes(-(2n ** BigInt(size - 1)), 2n ** BigInt(size - 1) - 1n),
  })),
  fc.constant({ text: 'bool', value: fc.boolean() }),
  fc.constant({ text: 'address', value: hex(20, 20).map((text) => getAddress(text)) }),
  fc.constant({ text: 'bytes', value: hex(0, 100) }),
  fc.constant({ text: 'string', value: anyText(60) }),
  fc.integer({ min: 1, max: 32 }).map((size) => ({ text: `bytes${size}`, value: hex(size, size) })),
);

function dynamicArray(item: RandomType): RandomType {
  return { text: `${item.text}[]`, value: fc.array(item.value, { maxLength: 4 }) };
}

function fixedArray(item: RandomType, length: number): RandomType {
  return {
    text: `${item.text}[${length}]`,
    value: fc.array(item.value, { minLength: length, maxLength: length }),
  };
}

function tuple(fields: RandomType[], isNamed: boolean): RandomType {
  const texts = fields.map(({ text }, index) => (isNamed ? `${text} field${index}` : text));
  return { text: `(${texts.join(', ')})`, value: fc.tuple(...fields.map(({ value }) => value)) };
}

/** Types nested up to `depth` levels. */
function abiTypes(depth = 3): fc.Arbitrary<RandomType> {
  if (depth === 0) return elementary;
  const inner = abiTypes(depth - 1);
  return fc.oneof(
    { arbitrary: elementary, weight: 2 },
    { arbitrary: inner.map(dynamicArray), weight: 1 },
    {
      arbitrary: fc
        .tuple(inner, fc.integer({ min: 1, max: 3 }))
        .map(([item, length]) => fixedArray(item, length)),
      weight: 1,
    },
    {
      arbitrary: fc
        .tuple(fc.array(inner, { minLength: 1, maxLength: 3 }), fc.boolean())
        .map(([fields, isNamed]) => tuple(fields, isNamed)),
      weight: 2,
    },
  );
}

/** A function with random inputs and outputs of the same types, and values for them. */
export const abiCalls = fc.array(abiTypes(), { maxLength: 4 }).chain((types) =>
  fc.record({
    types: fc.constant(types.map(({ text }) => text)),
    values: fc.tuple(...types.map(({ value }) => value)),
  }),
);
