import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { documents } from '../support/documents.ts';
import { repositoryRoot } from '../support/repository.ts';

/** Phrases of literary English. */
const LITERARY =
  /\b(whoever|anew|of its own accord|by itself it|is told|are told|lets? go|takes? (it|them) up|stands? still|for good|mend|what is left)\b/i;

/** Words for which the glossary of CONTRIBUTING.md has another one, also as parts of names. */
const OTHER_WORDS = /\b(told|noted|buried|mend\w*|theatre|stages?|lanes?|naps?|holders?|tried)\b/gi;

/** Uses of such a word that are right. */
const ALLOWED = [
  { file: 'tests/repository/language.test.ts', word: /./, why: 'it lists the words' },
  { file: 'CONTRIBUTING.md', word: /./, why: 'its glossary lists words that are not used' },
  { file: 'CHANGELOG.md', word: /^tried$/, why: 'it names a field as it was called before' },
  { file: 'tests/whatsapp-emulator/pairing.ts', word: /^stage$/, why: "an attribute of WhatsApp's protocol" },
];

const sources = ['router/src', 'tests', 'prisma/functions', 'examples']
  .flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' }).map(
      (path) => `${folder}/${path.replaceAll('\\', '/')}`,
    ),
  )
  .filter((path) => /\.(ts|js|mjs|sql)$/.test(path) && !/node_modules|generated/.test(path))
  .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }));

const all = [...sources, ...documents()];

/** `isNoted` as `is Noted`, `tried_at` as `tried at`. */
const words = (text: string) => text.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ');

function otherWordsIn({ path, text }: { path: string; text: string }): string[] {
  const isAllowed = (word: string) => ALLOWED.some((use) => use.file === path && use.word.test(word));
  const found = [...words(text).matchAll(OTHER_WORDS)].map(([word]) => word);
  return found.filter((word) => !isAllowed(word)).map((word) => `${word} in ${path}`);
}

describe('the language', () => {
  it('of code, tests and documentation is plain technical English', () => {
    const literary = all
      .filter(({ path }) => path !== 'tests/repository/language.test.ts')
      .flatMap(({ path, text }) => text.split('\n').map((line) => ({ path, line })))
      .filter(({ line }) => LITERARY.test(line));
    expect(literary).toEqual([]);
  });

  it('of code, tests and documentation has the words of the glossary', () => {
    expect(sources.length).toBeGreaterThan(500);
    expect(all.flatMap(otherWordsIn)).toEqual([]);
  });

  it('has no exception that is not used', () => {
    const unused = ALLOWED.filter(
      ({ file, word }) =>
        !all.some(
          ({ path, text }) =>
            path === file && [...words(text).matchAll(OTHER_WORDS)].some(([use]) => word.test(use)),
        ),
    );
    expect(unused).toEqual([]);
  });
});
