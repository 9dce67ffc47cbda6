import { type AbiType, areNamed } from '../codec/abi-type.ts';
import { exampleJson } from './abi-example.ts';

/** A longer example is not shown. */
const MAX_EXAMPLE_CHARS = 60;

/** Describes the input for a type: `a whole number from 0 to 255`. */
export function expectation(type: AbiType): string {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return `a whole number from ${rangeText(type)}`;
    case 'bool':
      return 'true or false';
    case 'address':
      return 'an address (0x and 40 hex digits)';
    case 'string':
      return 'text';
    case 'bytes':
      return 'bytes as hex (0x…), base64 or text:…';
    case 'fixedBytes':
      return `${type.size} ${type.size === 1 ? 'byte' : 'bytes'} as hex (0x…), base64 or text:…`;
    case 'array': {
      if (type.length !== undefined) return `a list of ${count(type.length, 'item')}`;
      const example = exampleJson(type);
      return example.length > MAX_EXAMPLE_CHARS ? 'a list in brackets, [ … ]' : `a list such as ${example}`;
    }
    case 'tuple': {
      const example = exampleJson(type);
      if (example.length <= MAX_EXAMPLE_CHARS) return `of the form ${example}`;
      return areNamed(type.fields)
        ? `an object with ${type.fields.map(({ name }) => name).join(', ')}`
        : `a list of ${count(type.fields.length, 'value')}`;
    }
  }
}

/** `1 item`, `2 items`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A type of whole numbers. */
export type Whole = AbiType & { kind: 'uint' | 'int' };

/** The least and the greatest value of the type. */
export function rangeOf({ kind, bits }: Whole): [least: bigint, most: bigint] {
  return kind === 'uint'
    ? [0n, 2n ** BigInt(bits) - 1n]
    : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n];
}

function rangeText(type: Whole): string {
  const [least, most] = rangeOf(type);
  if (type.bits <= 32) return `${least} to ${most}`;
  return type.kind === 'uint' ? `0 to 2^${type.bits}-1` : `-2^${type.bits - 1} to 2^${type.bits - 1}-1`;
}
