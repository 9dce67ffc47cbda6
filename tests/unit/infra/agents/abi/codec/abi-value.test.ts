import { describe, expect, it } from 'vitest';
import { parseFunction } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { loadCodec, typeOf } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { coerce } from '../../../../../../router/src/infra/agents/abi/codec/abi-value.ts';
import type { AbiInput } from '../../../../../../router/src/infra/agents/abi/input/abi-input.ts';

const codec = await loadCodec();

function value(type: string, input: AbiInput) {
  const [param] = parseFunction(`f(${type} it)`).inputs;
  return coerce(param?.type ?? typeOf(type), input, 'it', codec);
}

const most = 2n ** 256n - 1n;
const vitalik = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

it('the codec is loaded once', async () => {
  expect(await loadCodec()).toBe(codec);
});

describe('text of a person becomes a value', () => {
  it.each([
    ['uint256', most.toString(), most],
    ['uint256', `0x${most.toString(16)}`, most],
    ['uint256', '  007 ', 7n],
    ['uint8', 255, 255n],
    ['int8', '-128', -128n],
    ['int256', (-(2n ** 255n)).toString(), -(2n ** 255n)],
    ['int16', '-0x10', -16n],
    ['int16', '\u22125', -5n],
    ['uint8', '\u202a7\u202c', 7n],
    ['uint8', '2\u200b', 2n],
    ['uint64', '9007199254740993', 9007199254740993n],
    ['bool', 'Yes', true],
    ['bool', '0', false],
    ['address', vitalik.toLowerCase(), vitalik],
    ['address', vitalik, vitalik],
    ['address', `0x${vitalik.slice(2).toUpperCase()}`, vitalik],
    ['address', `\u2066${vitalik}\u2069`, vitalik],
    ['bytes', '0xABcd', '0xabcd'],
    ['bytes', '', '0x'],
    ['bytes', 'aGVsbG8=', '0x68656c6c6f'],
    ['bytes', 'aGVsbG8', '0x68656c6c6f'],
    ['bytes', 'text:hé', '0x68c3a9'],
    ['bytes', new Uint8Array([1, 2]), '0x0102'],
    ['bytes4', '0x01020304', '0x01020304'],
    ['bytes4', 'deadbeef', '0xdeadbeef'],
    ['bytes4', '3q2+7w==', '0xdeadbeef'],
    ['bytes', 'base64:deadbeef', '0x75e69d6de79f'],
    ['bytes', 'hex:deadbeef', '0xdeadbeef'],
    ['string', 'so “quoted”', 'so “quoted”'],
    ['string', 5, '5'],
    ['uint8[]', '[1, 2, 3]', [1n, 2n, 3n]],
    ['uint8[]', '1, 2,3', [1n, 2n, 3n]],
    ['uint8[]', '', []],
    ['uint8[]', '1 2  3', [1n, 2n, 3n]],
    ['uint8[]', '1, 2,', [1n, 2n]],
    ['string[]', 'so it is, yes', ['so it is', 'yes']],
    ['uint256[]', `[${most}, 9007199254740993]`, [most, 9007199254740993n]],
    ['string[]', '[Ann, "Bob, too", ‘C’]', ['Ann', 'Bob, too', 'C']],
    [
      'uint8[2][]',
      '[[1,2],[3,4]]',
      [
        [1n, 2n],
        [3n, 4n],
      ],
    ],
    ['(string name, uint256 age)', '{“name”: “Ann”, “age”: 30}', ['Ann', 30n]],
    ['(string name, uint256 age)', '{age: 30, name: Ann}', ['Ann', 30n]],
    ['(string name, uint256 age)', '["Ann", 30]', ['Ann', 30n]],
    ['(string, bool)', '["Ann", true]', ['Ann', true]],
    ['(string name, uint8[] n)', '{"name": "Ann", "n": [1, 2,],}', ['Ann', [1n, 2n]]],
  ] as Array<[string, AbiInput, unknown]>)('%s from %j', (type, input, expected) => {
    expect(value(type, input)).toEqual(expected);
  });
});

describe('a user error is one polite sentence', () => {
  it.each([
    ['uint256', 'ten', "it must be a whole number from 0 to 2^256-1, got 'ten'"],
    ['uint8', '256', "it must be a whole number from 0 to 255, got '256'"],
    ['int64', '1.5', "it must be a whole number from -2^63 to 2^63-1, got '1.5'"],
    [
      'uint256',
      (most + 1n).toString(),
      expect.stringMatching(/^it must be a whole number from 0 to 2\^256-1, got /),
    ],
    ['uint256', '9'.repeat(100_000), expect.stringMatching(/^it must be .{1,90}$/)],
    ['uint256', 2 ** 60, expect.stringContaining('write large numbers as text')],
    ['uint256', '', "it must be a whole number from 0 to 2^256-1, got ''"],
    ['uint256', '0x', "it must be a whole number from 0 to 2^256-1, got '0x'"],
    ['uint256', '-', "it must be a whole number from 0 to 2^256-1, got '-'"],
    ['uint256', 'abc', "it must be a whole number from 0 to 2^256-1, got 'abc'"],
    ['uint256', true, "it must be a whole number from 0 to 2^256-1, got 'true'"],
    ['bool', 'maybe', "it must be true or false, got 'maybe'"],
    ['bool', ['1'], "it must be true or false, got 'a list of 1 item'"],
    ['address', '0x12', "it must be an address (0x and 40 hex digits), got '0x12'"],
    ['address', vitalik.replace('dA', 'DA'), expect.stringContaining('wrong checksum')],
    ['bytes', '0xabc', "it must be bytes as hex (0x…), base64 or text:…, got '0xabc'"],
    ['bytes', 'no base64!', "it must be bytes as hex (0x…), base64 or text:…, got 'no base64!'"],
    ['bytes', 'deadbeef', 'it may be hex or base64; write 0xdeadbeef or base64:deadbeef'],
    ['bytes4', '0x0102', 'it must be 4 bytes as hex (0x…), base64 or text:…, got 2 bytes'],
    ['string', ['a'], "it must be text, got 'a list of 1 item'"],
    ['string', 'a\ud800', 'it contains a broken character'],
    ['uint8[2]', '[1]', 'it must have 2 items, got 1'],
    ['uint8[]', '[1, x]', "item 2 of it must be a whole number from 0 to 255, got 'x'"],
    ['uint8[]', '[1, 2', "it needs a ']' at the end"],
    ['uint8[]', '[1, , 2]', "it has no value where one is expected, at ', 2]'"],
    ['uint8[]', '[1, 2] 3', "it has more text after its end, at '3'"],
    ['uint8[][]', 'x', "it must be a list such as [[1, 2]], got 'x'"],
    ['string[][]', 'x', 'it must be a list such as [["some words", "some words"]], got \'x\''],
    [
      '(string name, uint256 age)[]',
      'x',
      'it must be a list such as [{"name": "some words", "age": 2}], got \'x\'',
    ],
    ['(bool, address)', 'x', `it must be of the form [true, "0x${'0'.repeat(39)}1"], got 'x'`],
    [
      '(string name, (uint8 level, bytes[] parts, string remark, address who, bytes32 hash)[] items)',
      'x',
      "it must be an object with name, items, got 'x'",
    ],
    ['(string name, uint256 age)', '{"name":"Ann"}', 'it.age is missing'],
    [
      '(string name, uint256 age)',
      '{"name":"Ann","agee":1}',
      "it has no field 'agee'; its fields are name, age",
    ],
    [
      '(string name, uint256 age)',
      'Ann',
      'it must be of the form {"name": "some words", "age": 2}, got \'Ann\'',
    ],
    [
      '(string name, uint256 age)[]',
      '[["Ann", 1], {"name":"B","age":"x"}]',
      expect.stringMatching(/^age of item 2 of it must be a whole/),
    ],
    ['(bool, bool)', '[true]', 'it must have 2 values, got 1'],
    ['uint8', null, 'it is missing'],
    ['uint8[]', `${'['.repeat(100)}`, 'it is nested deeper than 32 levels'],
  ] as Array<[string, AbiInput, unknown]>)('%s from %j', (type, input, sentence) => {
    let message: string | undefined;
    try {
      value(type, input);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toEqual(sentence);
  });
});
