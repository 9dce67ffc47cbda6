import type { AbiParameter } from 'viem';
import { type Said, say } from '../../../../core/phrases.ts';

/** One ABI type, with aliases resolved (`uint` is `uint256`). Enums and contract types are not supported. */
export type AbiType =
  | { kind: 'uint' | 'int'; bits: number }
  | { kind: 'bool' | 'address' | 'string' | 'bytes' }
  | { kind: 'fixedBytes'; size: number }
  /** `length` absent: any number of items. */
  | { kind: 'array'; item: AbiType; length?: number }
  | { kind: 'tuple'; fields: AbiParam[] };

/** An input, an output or a field of a tuple; `name` is empty when it has none. */
export interface AbiParam {
  name: string;
  type: AbiType;
}

/**
 * A value of a type, exact: whole numbers as bigint, addresses with their checksum, bytes as lower-case `0x` hex, and
 * arrays and tuples as arrays in their order.
 */
export type AbiValue = bigint | boolean | string | AbiValue[];

/** A mistake in an ABI or in a route's settings. What it says continues the name of the field. */
export class AbiDefinitionError extends Error {
  readonly said: Said;

  constructor(said: Said) {
    super(said.sentence);
    this.said = said;
  }
}

const MAX_ARRAY_LENGTH = 1_000_000;
const MAX_BRACKETS = 16;

/**
 * Parses an elementary type name with optional array brackets, such as `uint`, `bytes32` or `int8[2][]`.
 * `named` resolves any other name (a tuple, a struct).
 * @throws {AbiDefinitionError}
 */
export function typeOf(
  text: string,
  named: (name: string) => AbiType | undefined = () => undefined,
): AbiType {
  const parts = /^([^[\]]*)((?:\[\d{0,9}\])*)$/.exec(text);
  if (!parts) throw new AbiDefinitionError(say('abi-definition.not-type', { text: shortened(text) }));
  const [, name = '', brackets = ''] = parts;
  const lengths = [...brackets.matchAll(/\[(\d*)\]/g)].map(([, length]) => length);
  if (lengths.length > MAX_BRACKETS) {
    throw new AbiDefinitionError(
      say('abi-definition.array-depth', { text: shortened(text), max: MAX_BRACKETS }),
    );
  }
  return lengths.reduce<AbiType>(
    (item, length) =>
      length ? { kind: 'array', item, length: arrayLength(length) } : { kind: 'array', item },
    named(name) ?? elementaryType(name),
  );
}

function arrayLength(digits: string): number {
  const length = Number(digits);
  if (length >= 1 && length <= MAX_ARRAY_LENGTH) return length;
  throw new AbiDefinitionError(say('abi-definition.array-length', { max: MAX_ARRAY_LENGTH, length: digits }));
}

function elementaryType(name: string): AbiType {
  if (name === 'bool' || name === 'address' || name === 'string' || name === 'bytes') return { kind: name };
  const number = /^(u?int)(\d{0,4})$/.exec(name);
  if (number) {
    const bits = number[2] === '' ? 256 : Number(number[2]);
    const isKnown = bits >= 8 && bits <= 256 && bits % 8 === 0 && !number[2]?.startsWith('0');
    if (isKnown) return { kind: number[1] as 'uint' | 'int', bits };
  }
  const bytes = /^bytes([1-9]\d?)$/.exec(name);
  if (bytes && Number(bytes[1]) <= 32) return { kind: 'fixedBytes', size: Number(bytes[1]) };
  throw new AbiDefinitionError(say('abi-definition.not-type', { text: shortened(name) }));
}

/** Canonical text of a type, as selectors use it: `(string,uint256)[]`. */
export function typeText(type: AbiType): string {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return `${type.kind}${type.bits}`;
    case 'fixedBytes':
      return `bytes${type.size}`;
    case 'array':
      return `${typeText(type.item)}[${type.length ?? ''}]`;
    case 'tuple':
      return `(${type.fields.map((field) => typeText(field.type)).join(',')})`;
    default:
      return type.kind;
  }
}

/** Text of a type with the names of its fields: `(string name, uint256 age)[]`. */
export function namedTypeText(type: AbiType): string {
  if (type.kind === 'array') return `${namedTypeText(type.item)}[${type.length ?? ''}]`;
  if (type.kind !== 'tuple') return typeText(type);
  const fields = type.fields.map((field) => `${namedTypeText(field.type)}${field.name && ` ${field.name}`}`);
  return `(${fields.join(', ')})`;
}

/** Whether the encoding has an offset to the value instead of the value. */
export function isDynamic(type: AbiType): boolean {
  if (type.kind === 'string' || type.kind === 'bytes') return true;
  if (type.kind === 'array') return type.length === undefined || isDynamic(type.item);
  return type.kind === 'tuple' && type.fields.some((field) => isDynamic(field.type));
}

/** Number of bytes in the head of the encoding; 32, the offset, for a dynamic type. */
export function headBytes(type: AbiType): number {
  if (isDynamic(type)) return 32;
  if (type.kind === 'array') return (type.length ?? 0) * headBytes(type.item);
  if (type.kind === 'tuple') return type.fields.reduce((sum, field) => sum + headBytes(field.type), 0);
  return 32;
}

/** Whether each field has a name and no two names are equal, so that a value can be written as an object. */
export function areNamed(params: readonly AbiParam[]): boolean {
  const names = new Set(params.map(({ name }) => name));
  return names.size === params.length && !names.has('');
}

/** Cuts a text for an error message to 40 characters. */
export function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/** The functions of viem that are used. Loading takes a quarter of a second, so they are loaded with the first ABI route. */
export interface Codec {
  /** `0x` hex of the values in ABI encoding, without a selector. */
  encode(params: readonly AbiParameter[], values: readonly AbiValue[]): `0x${string}`;
  /** First four bytes of the text's Keccak-256, as `0x` hex. */
  selectorOf(signature: string): `0x${string}`;
  /** The address with its checksum; accepts upper and lower case. */
  checksum(address: string): string;
}

let loading: Promise<Codec> | undefined;

/** The codec, loaded once per process. */
export function loadCodec(): Promise<Codec> {
  loading ??= import('viem/utils').then(({ encodeAbiParameters, keccak256, stringToHex, getAddress }) => ({
    encode: (params, values) => encodeAbiParameters(params, values),
    selectorOf: (signature) => keccak256(stringToHex(signature)).slice(0, 10) as `0x${string}`,
    checksum: (address) => getAddress(address.toLowerCase()),
  }));
  return loading;
}

/** A parameter in the form that viem expects. */
export function viemParameter({ name, type }: AbiParam): AbiParameter {
  const text = typeText(type);
  const tuple = tupleIn(type);
  if (!tuple) return { name, type: text };
  const brackets = text.slice(text.lastIndexOf(')') + 1);
  return { name, type: `tuple${brackets}`, components: tuple.map(viemParameter) };
}

function tupleIn(type: AbiType): AbiParam[] | undefined {
  if (type.kind === 'array') return tupleIn(type.item);
  return type.kind === 'tuple' ? type.fields : undefined;
}
