import type { AbiParameter } from 'viem';
import { type AbiParam, type AbiType, type AbiValue, typeText } from './abi-type.ts';

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
