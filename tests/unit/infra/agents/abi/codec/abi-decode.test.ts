import { AbiCoder } from 'ethers';
import { describe, expect, it } from 'vitest';
import {
  AbiDecodeError,
  decodeValues,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-decode.ts';
import { parseFunction } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { loadCodec } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';

const codec = await loadCodec();
const coder = AbiCoder.defaultAbiCoder();

function decode(types: string, data: Uint8Array) {
  return decodeValues(parseFunction(`f() returns (${types})`).outputs, data, codec);
}

function words(...numbers: Array<number | bigint>): Buffer {
  return Buffer.from(numbers.map((number) => BigInt(number).toString(16).padStart(64, '0')).join(''), 'hex');
}

function refusal(types: string, data: Uint8Array): string {
  const before = process.memoryUsage().rss;
  try {
    decode(types, data);
  } catch (error) {
    expect(error).toBeInstanceOf(AbiDecodeError);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
    return (error as Error).message;
  }
  throw new Error('it was decoded');
}

const tenMegabytes = 10 * 1024 * 1024;

describe('hostile outputs are rejected in bounded time and memory', () => {
  it.each([
    [
      'an offset beyond any memory',
      'string a',
      words(2n ** 255n),
      "has a's offset beyond the end of the answer",
    ],
    ['an offset just outside', 'string a', words(32), "ends before a's length"],
    [
      'a length beyond any memory',
      'bytes a',
      words(32, 2n ** 256n - 1n),
      "has a's length beyond the end of the answer",
    ],
    ['a length of all that is there', 'bytes a', words(32, 96, 0), 'ends before a'],
    ['an array longer than the data', 'uint256[] a', words(32, 60, 1), 'ends before the 60 items of a'],
    ['an array in itself', 'string[] a', words(32, 1, 0), expect.any(String)],
    ['a bool of 2', 'bool a', words(2), 'has neither true nor false in a'],
    ['an address with dirty bits', 'address a', words(2n ** 200n), 'has no address in a'],
    ['a uint8 of 256', 'uint8 a', words(256), 'has a number in a that uint8 cannot contain'],
    ['an int8 of 128', 'int8 a', words(128), 'has a number in a that int8 cannot contain'],
    ['bytes4 of five bytes', 'bytes4 a', words(1n << 216n), 'has more than 4 bytes in a'],
    [
      'a second output that nobody expects',
      'uint256 a',
      words(1, 7),
      'has 32 bytes more than its types need',
    ],
    [
      'two texts in one place',
      'string a, string b',
      words(64, 64, 0, 0).subarray(0, 96),
      "has parts that overlap, at b's length",
    ],
  ] as Array<[string, string, Buffer, string]>)('%s', (_name, types, data, sentence) => {
    expect(refusal(types, data)).toEqual(sentence);
  });

  it('10 MB whose items all point at one 5 MB text', () => {
    const count = (tenMegabytes / 2 - 64) / 32;
    const data = Buffer.alloc(tenMegabytes);
    words(32, count).copy(data);
    const target = 64 + count * 32;
    for (let index = 0; index < count; index += 1) words(target - 64).copy(data, 64 + index * 32);
    words(tenMegabytes - target - 32).copy(data, target);
    expect(refusal('bytes[] a', data)).toMatch(/overlap/);
  });

  it('10 MB of arrays in arrays that point back at themselves', () => {
    // Each word is an offset, a length and an item at once: without a limit, 32 to the power of 8 values.
    const data = Buffer.alloc(tenMegabytes, words(32));
    expect(refusal('uint256[][][][][][][][] a', data)).toMatch(/overlap|more than/);
  });

  it('10 MB of more values than the limit', () => {
    const count = 80_000;
    const data = Buffer.concat([words(32, count), Buffer.alloc(count * 32)]);
    expect(decode('uint256[] a', data)[0]).toHaveLength(count);
    const huge = Buffer.concat([words(32, 320_000), Buffer.alloc(320_000 * 32)]);
    expect(decode('bool[] a', huge)[0]).toHaveLength(320_000);
    expect(refusal('bool[1][1] a, uint8[] b', Buffer.alloc(tenMegabytes, 1))).toEqual(expect.any(String));
  });

  it.each([
    ['string greeting', ['Hello, Ann! Grüße']],
    ['bytes32 hash, uint256 size, bool valid', [`0x${'12'.repeat(32)}`, 5n, true]],
    [
      '(string name, (uint8 level, bytes[] parts)[] items) deep',
      [
        [
          'Ann',
          [
            [1n, ['0x12', '0x']],
            [2n, []],
          ],
        ],
      ],
    ],
  ])('truncated at every byte: %s', (types, values) => {
    const plain = parseFunction(`f() returns (${types})`).outputs.length;
    const encoded = Buffer.from(coder.encode(splitTypes(types, plain), values).slice(2), 'hex');
    expect(decode(types, encoded)).toEqual(values);
    for (let length = 0; length < encoded.length; length += 1) refusal(types, encoded.subarray(0, length));
  });
});

/** The types for ethers, which accepts names in tuples too. */
function splitTypes(types: string, count: number): string[] {
  return count === 1 ? [types] : types.split(', ');
}

describe('outputs of other encoders', () => {
  it('can end in unused zeros, as some Python encoders write them', () => {
    expect(decode('string a', Buffer.concat([words(32, 0), Buffer.alloc(32)]))).toEqual(['']);
  });

  it('keep a text that begins with NUL or a byte order mark', () => {
    for (const text of ['\0\0a', '\ufeffa']) {
      expect(decode('string a', Buffer.from(coder.encode(['string'], [text]).slice(2), 'hex'))).toEqual([
        text,
      ]);
    }
  });
});

it('a text with a bad byte is read with a replacement character', () => {
  const data = Buffer.concat([words(32, 2), Buffer.from([0xc3, 0x28]), Buffer.alloc(30)]);
  expect(decode('string a', data)).toEqual(['\ufffd(']);
});
