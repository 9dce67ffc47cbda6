import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';

interface Literal {
  pattern: string;
  flags: string;
}

const { patternsIn, problemOf } = (await import(
  pathToFileURL(join(repositoryRoot, 'scripts', 'check-patterns.mjs')).href
)) as {
  patternsIn(file: string, source: string): { patterns: Array<Literal & { at: string }>; unknown: string[] };
  problemOf(literal: Literal): Promise<string | undefined>;
};

describe('the check of regular expressions', () => {
  it('finds literals and expressions that are made of constants', () => {
    const source = [
      'const HOST = String.raw`\\d{1,3}`;',
      'const first = /a+b/gi;',
      "const made = new RegExp('^' + HOST + '$', 'i');",
      'const joined = RegExp("x" + HOST);',
    ].join('\n');
    expect(patternsIn('router/src/a.ts', source)).toEqual({
      patterns: [
        { pattern: 'a+b', flags: 'gi', at: 'router/src/a.ts:2' },
        { pattern: '^\\d{1,3}$', flags: 'i', at: 'router/src/a.ts:3' },
        { pattern: 'x\\d{1,3}', flags: '', at: 'router/src/a.ts:4' },
      ],
      unknown: [],
    });
  });

  it('refuses expressions that are made of something else', () => {
    const source = 'export const test = (pattern: string) => new RegExp(pattern).test("x");';
    expect(patternsIn('router/src/a.ts', source).unknown).toEqual(['router/src/a.ts:1']);
  });

  it.each(['\\s+$', '^(?:[ \\t]*>[ \\t]*){4}', ':\\/\\/[^\\s/@]*:[^\\s/@]*@', '(a+)+$'])(
    'refuses /%s/',
    async (pattern) => {
      expect(await problemOf({ pattern, flags: '' })).toMatch(/polynomial|exponential/);
    },
    60_000,
  );

  it('allows what takes linear time', async () => {
    expect(await problemOf({ pattern: '^\\s*yes[.!]?\\s*$', flags: 'i' })).toBeUndefined();
  }, 60_000);
});
