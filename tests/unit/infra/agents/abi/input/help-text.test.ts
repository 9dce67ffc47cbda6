import { describe, expect, it } from 'vitest';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import {
  commandList,
  functionHelp,
  usage,
} from '../../../../../../router/src/infra/agents/abi/input/abi-command.ts';

async function functionsOf(...entries: string[]) {
  return (await createAbi(entries)).functions;
}

async function functionOf(entry: string) {
  const [found] = await functionsOf(entry);
  if (!found) throw new Error('no function');
  return found;
}

describe('commandList', () => {
  it('shows each function with its arguments, those without a name by their number', async () => {
    expect(commandList(await functionsOf('ping()', 'f(uint a, (string name, bool)[2])'))).toBe(
      [
        'You can write:',
        '/ping',
        '/f a: uint256, argument 2: (string name, bool)[2]',
        '/help ping shows more.',
      ].join('\n'),
    );
  });

  it('omits the arguments of a function that is too long for the list, and still shows it', async () => {
    const long = `long(${Array.from({ length: 600 }, (_, index) => `uint256 a${index}`).join(', ')})`;
    expect(commandList(await functionsOf(long))).toBe('You can write:\n/long\n/help long shows more.');
    expect(commandList(await functionsOf('ping()', long))).toBe(
      'You can write:\n/ping\n… and 1 more\n/help ping shows more.',
    );
  });
});

describe('functionHelp', () => {
  it('says when there are no arguments and no outputs', async () => {
    expect(functionHelp(await functionOf('ping()'))).toBe(
      '/ping\n• no arguments\nAnswers nothing.\nExample: /ping',
    );
  });

  it('shows outputs with and without names', async () => {
    expect(functionHelp(await functionOf('f() returns (uint sum, (bool ok)[])'))).toContain(
      'Answers sum: uint256, (bool ok)[].',
    );
  });

  it('describes lists in lists from the outside in', async () => {
    expect(functionHelp(await functionOf('f(bool[2][] grid)'))).toContain(
      '• grid: a list, each a list of 2, each true or false',
    );
    expect(functionHelp(await functionOf('f((bool)[3] u)'))).toContain(
      '• u: a list of 3, each with\n  value 1: true or false',
    );
  });

  it('is short for deeply nested lists', async () => {
    const deep = await functionOf(
      `deep(uint8${'[3]'.repeat(10)} a, (bool b, uint8[3][3][3][3] c)[3][3][3] d)`,
    );
    expect(functionHelp(deep).length).toBeLessThan(5_000);
    expect(usage(deep).length).toBeLessThan(5_000);
  });
});

describe('usage', () => {
  it.each([
    ['ping()', '/ping'],
    ['add(uint a, uint b)', '/add 1 2'],
    // Only a text at the end needs no quotes.
    ['f(string a, string b)', '/f "some words" some words'],
    ['f(bytes4 a, bool b)', '/f 0x12121212 true'],
    ['f(uint8[50] a)', '/f [1, 2, 3, …]'],
    ['f(uint8[] a, (string name) b)', '/f [1, 2] {"name": "some words"}'],
  ])('of %s is %s', async (entry, expected) => {
    expect(usage(await functionOf(entry))).toBe(expected);
  });
});
