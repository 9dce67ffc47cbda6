import { describe, expect, it } from 'vitest';
import { createAbi } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { interpret } from '../../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import { aMessage } from '../../../../../support/adk-requests.ts';

/** What a person reads who writes this to an agent with these functions. */
async function said(text: string, ...entries: string[]): Promise<string> {
  const meaning = interpret({ abi: await createAbi(entries) }, aMessage({ text }));
  if (meaning.kind === 'call') throw new Error('a call');
  return meaning.text;
}

const listOf = (...entries: string[]) => said('/help', ...entries);
const helpOf = (entry: string) => said(`/help ${/^\w+/.exec(entry)?.[0]}`, entry);

describe('the list of commands', () => {
  it('shows each function with its arguments, those without a name by their number', async () => {
    expect(await listOf('ping()', 'f(uint a, (string name, bool)[2])')).toBe(
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
    expect(await listOf(long)).toBe('You can write:\n/long\n/help long shows more.');
    expect(await listOf('ping()', long)).toBe('You can write:\n/ping\n… and 1 more\n/help ping shows more.');
  });
});

describe('the help of a command', () => {
  it('says when there are no arguments and no outputs', async () => {
    expect(await helpOf('ping()')).toBe('/ping\n• no arguments\nAnswers nothing.\nExample: /ping');
  });

  it('shows outputs with and without names', async () => {
    expect(await helpOf('f() returns (uint sum, (bool ok)[])')).toContain(
      'Answers sum: uint256, (bool ok)[].',
    );
  });

  it('describes lists in lists from the outside in', async () => {
    expect(await helpOf('f(bool[2][] grid)')).toContain(
      '• grid: a list, each a list of 2, each true or false',
    );
    expect(await helpOf('f((bool)[3] u)')).toContain('• u: a list of 3, each with\n  value 1: true or false');
  });

  it('is short for deeply nested lists', async () => {
    const deep = `deep(uint8${'[3]'.repeat(10)} a, (bool b, uint8[3][3][3][3] c)[3][3][3] d)`;
    expect((await helpOf(deep)).length).toBeLessThan(5_000);
  });
});

describe('the example of a command', () => {
  it.each([
    ['ping()', '/ping'],
    ['add(uint a, uint b)', '/add 1 2'],
    // Only a text at the end needs no quotes.
    ['f(string a, string b)', '/f "some words" some words'],
    ['f(bytes4 a, bool b)', '/f 0x12121212 true'],
    ['f(uint8[50] a)', '/f [1, 2, 3, …]'],
    ['f(uint8[] a, (string name) b)', '/f [1, 2] {"name": "some words"}'],
  ])('of %s is %s', async (entry, expected) => {
    expect((await helpOf(entry)).split('\n').at(-1)).toBe(`Example: ${expected}`);
  });
});
