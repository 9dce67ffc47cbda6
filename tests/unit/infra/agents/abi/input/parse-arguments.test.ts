import { describe, expect, it } from 'vitest';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { argumentsOf } from '../../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import { AbiInputError, FileInput } from '../../../../../../router/src/infra/agents/abi/input/abi-input.ts';

const FILE = '<image/png>';

async function values(entry: string, text: string, options: { file?: boolean; isCallSyntax?: boolean } = {}) {
  const { functions, codec } = await createAbi([entry]);
  const [target] = functions;
  if (!target) throw new Error('no function');
  const file = options.file ? new FileInput(FILE) : undefined;
  return argumentsOf(target, { text, file }, { codec, isCallSyntax: options.isCallSyntax ?? false });
}

async function mistake(...args: Parameters<typeof values>): Promise<string> {
  const error = await values(...args).then(
    (found) => found,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(AbiInputError);
  return (error as AbiInputError).message;
}

describe('arguments by position', () => {
  it.each<[string, string, unknown[]]>([
    ['f(uint a, uint b)', ' 2\n40 ', [2n, 40n]],
    ['f(uint a, uint b)', '2, 40', [2n, 40n]],
    ['f(uint a, uint b)', '2,40', [2n, 40n]],
    ['f(uint a, uint b)', '"2" ‘40’', [2n, 40n]],
    ['f(uint a, uint[] b)', '2 [40, 41]', [2n, [40n, 41n]]],
    ['f(uint a, (string name) b)', '2 {“name”: “Ann”}', [2n, ['Ann']]],
    // A text at the end takes the rest, with its quotes removed only when they are around all of it.
    ['f(uint a, string b)', '2 so it is, yes', [2n, 'so it is, yes']],
    ['f(uint a, string b)', '2 "so it is"', [2n, 'so it is']],
    ['f(uint a, string b)', '2 "so" it "is"', [2n, '"so" it "is"']],
    ['f(uint a, string b)', '2 "half', [2n, '"half']],
    ['f(string a, uint b)', '"two words" 5', ['two words', 5n]],
    ['f(string a, string b)', 'one, two', ['one', 'two']],
  ])('of %s in %j', async (entry, text, expected) => {
    expect(await values(entry, text)).toEqual(expected);
  });

  it.each([
    ['f(uint a, uint b)', '', '/f needs 2 arguments, got 0; write /f 1 2'],
    ['f(uint a, uint b)', '1', '/f needs 2 arguments, got 1; write /f 1 2'],
    ['f(uint a, uint b)', '1 2 3 4 5', '/f needs 2 arguments, got more than 2; write /f 1 2'],
    ['f(uint a, bytes b)', '1', '/f needs 2 arguments, got 1; write /f 1 0x1234, or send a file with it'],
    ['f(uint a, uint b)', '1 [2', "the input needs a ']' at the end"],
    ['f()', 'x', '/f takes no arguments'],
  ])('of %s in %j are a mistake', async (entry, text, sentence) => {
    expect(await mistake(entry, text)).toBe(sentence);
  });

  it.each(['', '[]', '{}', '()'])('of a function without arguments may be %j', async (text) => {
    expect(await values('f()', text)).toEqual([]);
  });
});

describe('arguments as JSON', () => {
  it.each<[string, string, unknown[]]>([
    ['f(uint a, uint b)', '[2, 40]', [2n, 40n]],
    ['f(uint a, uint b)', '{"b": 40, "a": 2}', [2n, 40n]],
    // An array with another number of items is the first argument.
    ['f(uint[] a, uint b)', '[1, 2, 3] 4', [[1n, 2n, 3n], 4n]],
    ['f(uint[] a)', '{"a": [1, 2]}', [[1n, 2n]]],
    ['f((string name) user)', '{"user": {"name": "Ann"}}', [['Ann']]],
    // Here `name` is the field of the tuple and also its name.
    ['f((string name) name)', '{"name": "Ann"}', [['Ann']]],
    ['f((string name) user)', '["Ann"]', [['Ann']]],
  ])('of %s in %j', async (entry, text, expected) => {
    expect(await values(entry, text)).toEqual(expected);
  });

  it('are named in a mistake as the person wrote them', async () => {
    expect(await mistake('f((uint8 age) user)', '{"age": 256}')).toBe(
      "age must be a whole number from 0 to 255, got '256'",
    );
    expect(await mistake('f(uint a, uint b)', '{"a": 1, "c": 2}')).toBe(
      "the input has no field 'c'; its fields are a, b",
    );
    expect(await mistake('f((uint8 age) user)', '{"age": ')).toMatch(/^the input /);
  });
});

describe('a text as the only argument', () => {
  it.each([
    ['{"a": "b"}', '{"a": "b"}'],
    ['[1, 2]', '[1, 2]'],
    ['“quoted”', 'quoted'],
    ['"', '"'],
    ['(in brackets)', '(in brackets)'],
  ])('%j is taken as %j', async (text, expected) => {
    expect(await values('f(string a)', text)).toEqual([expected]);
  });

  it('is what the parentheses of a call contain', async () => {
    expect(await values('f(string a)', '(Ann)', { isCallSyntax: true })).toEqual(['Ann']);
  });
});

describe('arguments in parentheses', () => {
  it.each<[string, string, unknown[]]>([
    ['f(uint a, uint b)', '(2, 40)', [2n, 40n]],
    ['f((string name, uint age) user)', '("Ann", 30)', [['Ann', 30n]]],
    ['f((string name, uint age) user)', '({"name": "Ann", "age": 30})', [['Ann', 30n]]],
    ['f(uint[] a)', '([1, 2])', [[1n, 2n]]],
  ])('of %s in %j', async (entry, text, expected) => {
    expect(await values(entry, text)).toEqual(expected);
  });

  it('may be empty, which is no argument', async () => {
    expect(await mistake('f((string name) user)', '()')).toMatch(/^\/f needs 1 argument, got 0/);
  });
});

describe('a file with the command', () => {
  const file = true;

  it.each<[string, string, unknown[]]>([
    ['f(bytes a)', '', [FILE]],
    ['f(uint a, bytes b)', '7', [7n, FILE]],
    ['f(bytes a, string b)', 'two words', [FILE, 'two words']],
    ['f(uint a, bytes b)', '{"a": 7}', [7n, FILE]],
    ['f(bytes a, bytes b)', '{"b": "0x12"}', [FILE, '0x12']],
  ])('is the argument of %s that %j does not name', async (entry, text, expected) => {
    expect(await values(entry, text, { file })).toEqual(expected);
  });

  it.each<[string, string, unknown[]]>([
    ['f(bytes a)', '0x12', ['0x12']],
    ['f(uint a, bytes b)', '7 0x12', [7n, '0x12']],
    ['f(uint a, bytes b)', '{"a": 7, "b": "0x12"}', [7n, '0x12']],
    ['f(uint a)', '7', [7n]],
    ['f(bytes a, bytes b)', '0x12 0x34', ['0x12', '0x34']],
  ])('is not used when %s has all its arguments in %j', async (entry, text, expected) => {
    expect(await values(entry, text, { file })).toEqual(expected);
  });

  it('does not decide between two arguments of type bytes', async () => {
    expect(await mistake('f(bytes a, bytes b)', '0x12', { file })).toMatch(/^\/f needs 2 arguments, got 1/);
  });
});
