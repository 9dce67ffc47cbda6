import { Interface } from 'ethers';
import { describe, expect, it } from 'vitest';
import {
  type AbiProblemsError,
  createAbi,
  findFunction,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { typeText } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { specificationFunctions } from '../../../../../fixtures/abi-echo-types.js';

async function problemsOf(entries: unknown[]) {
  const error = await createAbi(entries).then(
    () => undefined,
    (caught: AbiProblemsError) => caught,
  );
  return error?.problems.map(({ path, said }) => ({ path, message: said.sentence }));
}

describe('the functions of an agent', () => {
  it("have the selectors of the container specification's examples", async () => {
    const abi = await createAbi(specificationFunctions);
    expect(Object.fromEntries(abi.functions.map(({ signature, selector }) => [signature, selector]))).toEqual(
      {
        'greet(string)': '0xead710c4',
        'add(uint256,uint256)': '0x771602f7',
        'sumArray(uint256[])': '0x1e2aea06',
        'processUser((string,uint256))': '0xd842ba18',
        'analyze(bytes)': '0x8171a6ef',
      },
    );
  });

  it('are the same from a signature, from a JSON ABI, with aliases and with a struct', async () => {
    const spellings: unknown[][] = [
      ['function f(uint256 a, (string name, int256[] ages)[2] u) external view returns (uint256 r)'],
      ['f(uint a, tuple(string name, int[] ages)[2] calldata u) returns (uint r);'],
      [
        'struct User { string name; int[] ages; }',
        'function f(uint a, User[2] memory u) public pure returns (uint r)',
      ],
      [
        {
          type: 'function',
          name: 'f',
          inputs: [
            { name: 'a', type: 'uint' },
            {
              name: 'u',
              type: 'tuple[2]',
              components: [
                { name: 'name', type: 'string' },
                { name: 'ages', type: 'int256[]' },
              ],
            },
          ],
          outputs: [{ name: 'r', type: 'uint' }],
        },
        { type: 'event', name: 'Seen', inputs: [] },
      ],
    ];
    for (const entries of spellings) {
      const [found] = (await createAbi(entries)).functions;
      expect(found?.signature).toBe('f(uint256,(string,int256[])[2])');
      expect(found?.selector).toBe(
        new Interface(['function f(uint256,(string,int256[])[2])']).getFunction('f')?.selector,
      );
      expect(found?.inputs.map(({ name }) => name)).toEqual(['a', 'u']);
      expect(found?.outputs.map(({ type }) => typeText(type))).toEqual(['uint256']);
    }
  });

  it('are read from a whole contract, whose other parts are ignored', async () => {
    const human = [
      'constructor(address owner)',
      'event Seen(address indexed who, uint256 at)',
      'error Refused(string why)',
      'fallback() external payable',
      'receive() external payable',
      'function error(string why) returns (bool)',
      'event(uint256 a)',
    ];
    expect((await createAbi(human)).functions.map(({ signature }) => signature)).toEqual([
      'error(string)',
      'event(uint256)',
    ]);
    const json = ['constructor', 'event', 'error', 'fallback', 'receive'].map((type) => ({
      type,
      inputs: [],
    }));
    const f = { type: 'function', name: 'f', inputs: [], outputs: [], stateMutability: 'view' };
    expect((await createAbi([...json, f])).functions.map(({ signature }) => signature)).toEqual(['f()']);
    expect(await problemsOf(human.slice(0, 5))).toEqual([
      { path: '', message: 'must contain at least one function' },
    ]);
  });

  it('are identified by name, by signature in any spelling, and by selector', async () => {
    const abi = await createAbi(['function f(uint256 a)', 'function f(string a)', 'function g()']);
    expect(findFunction(abi, 'g').signature).toBe('g()');
    expect(findFunction(abi, 'f(uint)').signature).toBe('f(uint256)');
    expect(findFunction(abi, 'function f(string whatever)').signature).toBe('f(string)');
    const { selector } = findFunction(abi, 'f(string)');
    expect(findFunction(abi, selector.toUpperCase().replace('0X', '0x')).signature).toBe('f(string)');
    expect(() => findFunction(abi, 'f')).toThrow(
      'there are several forms; write one of f(uint256), f(string)',
    );
    expect(() => findFunction(abi, 'h')).toThrow("names 'h', which is not among the functions");
    expect(() => findFunction(abi, '0x00000000')).toThrow('no function has');
  });

  it('with errors are all reported, each with its position and a sentence', async () => {
    expect(
      await problemsOf([
        'function ok(bool)',
        'function bad(uint7 a)',
        'function open(uint256 a',
        { type: 'function', name: 'tup', inputs: [{ name: 'x', type: 'tuple' }] },
        7,
        'function zero(uint256[0] a)',
        'function fix(fixed128x18 a)',
        'function huge(uint256[1000][1000] a)',
        'function typo(uint256 a) return (bool)',
      ]),
    ).toEqual([
      { path: '[1]', message: "'uint7' is not an ABI type" },
      { path: '[2]', message: "'function open(uint256 a' has the end where ',' or ')' belongs" },
      { path: '[3]', message: "tup's inputs, number 1, is a tuple and needs components" },
      { path: '[4]', message: 'must be a signature or an entry of a JSON ABI' },
      { path: '[5]', message: "an array's length must be from 1 to 1000000, not 0" },
      { path: '[6]', message: "'fixed128x18' is not an ABI type" },
      { path: '[7]', message: 'has arrays of a fixed length above 10 MB' },
      {
        path: '[8]',
        message: "'function typo(uint256 a) return (bool)' has 'return' where 'returns' or the end belongs",
      },
    ]);
    expect(await problemsOf([])).toEqual([{ path: '', message: 'must contain at least one function' }]);
    expect(await problemsOf(['function f()', 'f()'])).toEqual([{ path: '[1]', message: 'repeats f()' }]);
    expect(await problemsOf(['struct A { A a; }', 'function f(A a)'])).toEqual([
      { path: '[1]', message: 'struct A contains itself' },
    ]);
    expect(await problemsOf([`function f(${'('.repeat(40)}`])).toEqual([
      { path: '[0]', message: 'tuples are nested deeper than 16 levels' },
    ]);
  });
});

async function sentencesOf(entries: unknown[]): Promise<string> {
  return (
    (await problemsOf(entries))?.map(({ path, message }) => `functions${path} ${message}`).join('; ') ??
    'none'
  );
}

/** Structs that each contain the previous one twice: 2 to the power of `depth` fields. */
function doubling(depth: number, field = 'string'): string[] {
  const next = (level: number) => `struct S${level + 1} { S${level} a; S${level}[] b; }`;
  return [
    `struct S0 { ${field} a; ${field} b; }`,
    ...Array.from({ length: depth }, (_, level) => next(level)),
  ];
}

/** Such an ABI once blocked the event loop for minutes: it would exceed the time limit of these tests. */
describe('a hostile ABI', () => {
  it.each(['string', 'uint256'])('of exponentially nested structs is refused, of %s', async (field) => {
    const problems = await sentencesOf([...doubling(40, field), 'function boom(S40 x)']);
    expect(problems).toBe('functions[41] has more than 1000 types, with structs expanded');
  });

  it('of too many types in total is refused', async () => {
    const args = 'uint256 a,'.repeat(900);
    const functions = Array.from({ length: 1_000 }, (_, index) => `function f${index}(${args} bool b)`);
    expect(await sentencesOf(functions)).toBe('functions must have at most 50000 types in all');
  });

  it('of long runs of spaces is read in linear time', async () => {
    const spaces = ' '.repeat(9_000);
    const brackets = Array.from({ length: 900 }, (_, index) => `function f${index}(uint256[${spaces}!)`);
    expect(await sentencesOf(brackets)).toContain('functions[0]');
    const endless = [`struct S { uint256 a; }${' '.repeat(1_000_000)}x`, 'function f(S a)'];
    expect(await sentencesOf(endless)).toContain('functions[0] must have at most 10000 characters');
  });
});
