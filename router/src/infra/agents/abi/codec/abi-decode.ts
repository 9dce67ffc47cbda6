import { type AbiParam, type AbiType, type AbiValue, type Codec, headBytes, isDynamic } from './abi-type.ts';

/** Bytes that are not the ABI encoding of the given types; the message names the place and never quotes the bytes. */
export class AbiDecodeError extends Error {}

const WORD = 32;
/** Maximum number of values in one answer: each is an object in memory, and 10 MB of hostile bytes could encode millions. */
const MAX_VALUES = 500_000;

/**
 * Decodes the encoding of `params`, strictly: an encoding that no encoder produces is an error (a number or
 * address with dirty upper bits, a bool of 2, parts that overlap, left-over bytes that are not zero).
 * Time and memory are bounded by the length of `data`, because no byte is read twice. viem's decoder has no such limit: it needs
 * minutes for 10 MB whose items all point at one text.
 * @throws {AbiDecodeError}
 */
export function decodeValues(params: readonly AbiParam[], data: Uint8Array, codec: Codec): AbiValue[] {
  const reader = new Decoder(data, codec);
  const values = reader.tuple(params, 0, (param, index) => param.name || `output ${index + 1}`);
  reader.end();
  return values;
}

type NameOf = (param: AbiParam, index: number) => string;

class Decoder {
  readonly #data: Buffer;
  readonly #codec: Codec;
  #bytesRead = 0;
  #lastRead = 0;
  #valuesLeft = MAX_VALUES;

  constructor(data: Uint8Array, codec: Codec) {
    this.#data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    this.#codec = codec;
  }

  /** Values of consecutive parameters whose heads begin at `base`, which is also where their offsets count from. */
  tuple(params: readonly AbiParam[], base: number, nameOf: NameOf): AbiValue[] {
    let at = base;
    return params.map((param, index) => {
      const name = nameOf(param, index);
      const value = this.#param(param.type, base, at, name);
      at += headBytes(param.type);
      return value;
    });
  }

  /** @throws {AbiDecodeError} bytes are left over */
  end(): void {
    const rest = this.#data.subarray(this.#lastRead);
    if (rest.every((byte) => byte === 0)) return;
    throw new AbiDecodeError(`has ${rest.length} bytes more than its types need`);
  }

  #param(type: AbiType, base: number, at: number, name: string): AbiValue {
    if (!isDynamic(type)) return this.#value(type, at, name);
    return this.#value(type, base + this.#size(at, `${name}'s offset`), name);
  }

  #value(type: AbiType, at: number, name: string): AbiValue {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) throw new AbiDecodeError(`has more than ${MAX_VALUES} values`);
    switch (type.kind) {
      case 'array':
        return this.#array(type, at, name);
      case 'tuple':
        return this.tuple(type.fields, at, (field, index) => `${name}.${field.name || index + 1}`);
      case 'bytes':
        return `0x${this.#bytes(at, name).toString('hex')}`;
      case 'string':
        return this.#string(at, name);
      case 'fixedBytes':
        return this.#fixedBytes(this.#word(at, name), type.size, name);
      default:
        return this.#number(type, this.#word(at, name), name);
    }
  }

  #array(type: AbiType & { kind: 'array' }, at: number, name: string): AbiValue[] {
    const { item } = type;
    const length = type.length ?? this.#size(at, `${name}'s length`);
    const base = type.length === undefined ? at + WORD : at;
    const itemBytes = headBytes(item);
    // Checked before an array of that length is allocated: the items' heads must be in the data.
    if (base + length * itemBytes > this.#data.length) {
      throw new AbiDecodeError(`ends before the ${length} items of ${name}`);
    }
    if (length > this.#valuesLeft) throw new AbiDecodeError(`has more than ${MAX_VALUES} values`);
    const values: AbiValue[] = [];
    for (let index = 0; index < length; index += 1) {
      values.push(this.#param(item, base, base + index * itemBytes, name));
    }
    return values;
  }

  #number(type: AbiType, word: Buffer, name: string): AbiValue {
    if (type.kind === 'address') {
      if (!isZero(word.subarray(0, 12))) throw new AbiDecodeError(`has no address in ${name}`);
      return this.#codec.checksum(`0x${word.toString('hex', 12)}`);
    }
    const value = BigInt(`0x${word.toString('hex')}`);
    if (type.kind === 'bool') {
      if (value > 1n) throw new AbiDecodeError(`has neither true nor false in ${name}`);
      return value === 1n;
    }
    const { kind, bits } = type as AbiType & { kind: 'uint' | 'int' };
    const number = kind === 'int' ? BigInt.asIntN(256, value) : value;
    const fitting = kind === 'int' ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
    if (number !== fitting)
      throw new AbiDecodeError(`has a number in ${name} that ${kind}${bits} cannot contain`);
    return number;
  }

  #fixedBytes(word: Buffer, size: number, name: string): string {
    if (!isZero(word.subarray(size))) throw new AbiDecodeError(`has more than ${size} bytes in ${name}`);
    return `0x${word.toString('hex', 0, size)}`;
  }

  #string(at: number, name: string): string {
    // One bad byte does not cost the person the rest: it is shown as a replacement character.
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#bytes(at, name));
  }

  #bytes(at: number, name: string): Buffer {
    const length = this.#size(at, `${name}'s length`);
    const padded = Math.ceil(length / WORD) * WORD;
    return this.#read(at + WORD, padded, name).subarray(0, length);
  }

  /** An offset or a length: never above the data's own length. */
  #size(at: number, what: string): number {
    const word = this.#word(at, what);
    // Anything that does not fit into six bytes is larger than any answer.
    const isHuge = !isZero(word.subarray(0, 26));
    const size = isHuge ? Number.POSITIVE_INFINITY : word.readUIntBE(26, 6);
    if (size > this.#data.length) throw new AbiDecodeError(`has ${what} beyond the end of the answer`);
    return size;
  }

  #word(at: number, name: string): Buffer {
    return this.#read(at, WORD, name);
  }

  #read(at: number, size: number, name: string): Buffer {
    if (at + size > this.#data.length) throw new AbiDecodeError(`ends before ${name}`);
    this.#bytesRead += size;
    if (this.#bytesRead > this.#data.length) throw new AbiDecodeError(`has parts that overlap, at ${name}`);
    this.#lastRead = Math.max(this.#lastRead, at + size);
    return this.#data.subarray(at, at + size);
  }
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
