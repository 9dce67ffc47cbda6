import { describe, expect, it } from 'vitest';
import {
  isNoFunction,
  isStruct,
  parseFunction,
  structsOf,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import {
  AbiDefinitionError,
  namedTypeText,
  typeText,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';

/** `add(uint256 a, uint256) → (uint256 sum)`. */
function parsed(text: string, structs: string[] = []): string {
  const { name, inputs, outputs } = parseFunction(text, structsOf(structs));
  const list = (params: typeof inputs) => namedTypeText({ kind: 'tuple', fields: params });
  return `${name}${list(inputs)} → ${list(outputs)}`;
}

describe('parseFunction', () => {
  it.each([
    ['f()', 'f() → ()'],
    ['  function  f ( uint a , bool )  ', 'f(uint256 a, bool) → ()'],
    ['function f(uint a) external view virtual returns (bool);', 'f(uint256 a) → (bool)'],
    ['f(string memory s, bytes calldata b, address payable to)', 'f(string s, bytes b, address to) → ()'],
    ['f(tuple(string name)[] users)', 'f((string name)[] users) → ()'],
    ['f((string name, (bool) inner)[2][] memory u)', 'f((string name, (bool) inner)[2][] u) → ()'],
    ['f(uint8 [ 2 ] [ ] grid)', 'f(uint8[2][] grid) → ()'],
    ['f(uint a)returns(bool ok)', 'f(uint256 a) → (bool ok)'],
    ['$f_1(uint $a)', '$f_1(uint256 $a) → ()'],
    // A word of the language is a name where a name belongs.
    ['returns(bool function) returns (bool)', 'returns(bool function) → (bool)'],
  ])('reads %j', (text, expected) => {
    expect(parsed(text)).toBe(expected);
  });

  it.each([
    ['', "'' has the end where a name for the function belongs"],
    ['function (uint a)', "has '(' where a name for the function belongs"],
    ['1f()', "has '1f' where a name for the function belongs"],
    ['f', "'f' has the end where '(' belongs"],
    ['f(', "'f(' has the end where a type belongs"],
    ['f(uint a', "has the end where ',' or ')' belongs"],
    ['f(uint a,)', "has ')' where a type belongs"],
    ['f(uint a b)', "has 'b' where ',' or ')' belongs"],
    ['f() returns', "has the end where '(' belongs"],
    ['f() g()', "has 'g' where 'returns' or the end belongs"],
    ['f() returns (bool) x', "has 'x' where the end belongs"],
    ['f(())', 'a tuple needs at least one field'],
    ['f(User u)', "'User' is not an ABI type"],
    ['f(uint256[0] a)', "an array's length must be from 1 to 1000000, not 0"],
  ])('refuses %j', (text, sentence) => {
    expect(() => parseFunction(text)).toThrow(AbiDefinitionError);
    expect(() => parseFunction(text)).toThrow(sentence);
  });

  it('reads a name of 100 characters and refuses one of 101', () => {
    expect(parseFunction(`${'f'.repeat(100)}()`).name).toHaveLength(100);
    expect(() => parseFunction(`${'f'.repeat(101)}()`)).toThrow('where a name for the function belongs');
  });

  it('reads as many characters as are allowed and refuses one more', () => {
    const text = 'f()'.padEnd(10_000);
    expect(parsed(text)).toBe('f() → ()');
    expect(() => parseFunction(`${text} `)).toThrow('must have at most 10000 characters');
  });

  it('reads 16 nested tuples and refuses 17', () => {
    const nested = (levels: number) => `f(${'('.repeat(levels)}bool${')'.repeat(levels)})`;
    expect(parseFunction(nested(16)).inputs).toHaveLength(1);
    expect(() => parseFunction(nested(17))).toThrow('tuples are nested deeper than 16 levels');
  });
});

describe('the parts of a contract', () => {
  it.each([
    ['event Seen(uint a)', true],
    ['  error Refused ( string why )', true],
    ['constructor(address owner)', true],
    ['fallback() external', true],
    ['receive () external', true],
    // Functions with these names.
    ['event(uint a)', false],
    ['error (string why)', false],
    ['function fallback()', false],
    ['receiver()', false],
  ])('%j is no function: %s', (text, expected) => {
    expect(isNoFunction(text)).toBe(expected);
  });

  it.each([
    ['struct User { string name; }', true],
    ['\n struct\tUser{}', true],
    ['structure(uint a)', false],
    ['function struct(uint a)', false],
  ])('%j is a struct: %s', (text, expected) => {
    expect(isStruct(text)).toBe(expected);
  });
});

describe('structsOf', () => {
  it('resolves structs in any order, and one of them in several places', () => {
    const structs = ['struct A { B b; B[2] more }', 'struct B { uint x; string name; };'];
    expect(parsed('f(A a, B[] b)', structs)).toBe(
      'f(((uint256 x, string name) b, (uint256 x, string name)[2] more) a, (uint256 x, string name)[] b) → ()',
    );
  });

  it('finds nothing for a name that is not defined', () => {
    expect(structsOf(['struct A { bool a; }'])('B')).toBeUndefined();
  });

  it.each([
    [['struct A bool a;'], "'struct A bool a;' is not a struct: struct Name { type field; }"],
    [['struct 1A { bool a; }'], 'is not a struct'],
    [['struct A { bool a; }', 'struct A { bool b; }'], 'struct A is defined twice'],
  ])('refuses %j', (texts, sentence) => {
    expect(() => structsOf(texts)).toThrow(sentence);
  });

  it.each([
    ['that contains itself', ['struct A { A[] a; }'], 'struct A contains itself'],
    [
      'that contains itself through another',
      ['struct A { B b; }', 'struct B { A a; }'],
      'struct A contains itself',
    ],
    ['without fields', ['struct A { }'], 'struct A has no fields'],
    ['with an unknown type', ['struct A { uint7 a; }'], "'uint7' is not an ABI type"],
  ])('refuses a struct %s at its first use, not before', (_name, texts, sentence) => {
    const lookup = structsOf(texts);
    expect(() => lookup('A')).toThrow(sentence);
  });

  it('reads a struct again after a mistake in it', () => {
    const lookup = structsOf(['struct A { B b; }', 'struct B { uint7 x; }', 'struct C { bool c; }']);
    expect(() => lookup('A')).toThrow("'uint7' is not an ABI type");
    expect(() => lookup('A')).toThrow("'uint7' is not an ABI type");
    const found = lookup('C');
    expect(found && typeText(found)).toBe('(bool)');
  });
});
