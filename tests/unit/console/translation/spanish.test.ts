import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SPANISH_CODES } from '../../../../console/src/translation/spanish-codes.ts';
import { SPANISH_MISTAKES } from '../../../../console/src/translation/spanish-mistakes.ts';
import { SPANISH_SENTENCES } from '../../../../console/src/translation/spanish-sentences.ts';
import { SPANISH_SETTINGS } from '../../../../console/src/translation/spanish-settings.ts';
import { SPANISH_WORDS } from '../../../../console/src/translation/spanish-words.ts';
import { envSchema } from '../../../../router/src/config/config.ts';
import { ACCOUNT_STATES } from '../../../../router/src/core/cluster/account-state.ts';
import { readDocument } from '../../../support/documents.ts';
import { repositoryRoot } from '../../../support/repository.ts';
import { mistakesIn, problemSentencesIn, sentencesIn } from '../../../support/source-sentences.ts';

const OPERATIONS = 'router/src/infra/operations';
/** The operations of features, and what checks their bodies. */
const FEATURES = readdirSync(join(repositoryRoot, 'router/src/features'), {
  recursive: true,
  encoding: 'utf8',
})
  .filter((name) =>
    /(?:-api|-view|-fields|-schemas|-checks|-table|-to-send|-preview|plan-\w+|after-failure|read-scenario)\.ts$/.test(
      name,
    ),
  )
  .map((name) => `router/src/features/${name}`);
const CORE = 'router/src/core';
const ENCRYPTED_EDITS = 'router/src/providers/baileys/messages/encrypted-edit.ts';
const AGENTS = 'router/src/infra/agents';

/** What people in chats read is not for the console. */
const FOR_CHATS = 'texts.ts';

/** Entries of docs/troubleshooting.md, without those of a service that does not start. */
function codesOfDocs(): string[] {
  const page = readDocument('docs/troubleshooting.md').replace(
    /^## Errors that stop the start$[\s\S]*?(?=^## |$(?![\s\S]))/m,
    '',
  );
  const titles = [...page.matchAll(/^### (\S+)$/gm)].map(([, title = '']) => title);
  const states: readonly string[] = ACCOUNT_STATES;
  return titles.filter((title) => !states.includes(title)).sort();
}

function sourceOf(...folders: string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(repositoryRoot, folder, name), 'utf8')),
    )
    .join('\n');
}

/** The words of steps and what they came to: literals after `step:`, `outcome:` and in the types of outcomes. */
function wordsOfTraces(): string[] {
  const source =
    sourceOf(`${CORE}/policies`, `${CORE}/turns`, `${CORE}/routing`) +
    readFileSync(join(repositoryRoot, ENCRYPTED_EDITS), 'utf8');
  const unions = [
    ...source.matchAll(/\b(?:step|outcome)\??: ((?:'[a-z-]+'(?: as const)?\s*\|?\s*)+)/g),
    ...source.matchAll(/\btype (?:RouteOutcome|FallbackRefusal) =([^;]+);/g),
    ...source.matchAll(/\bconst outcome = ([^;]+);/g),
    ...source.matchAll(/\bstep\(('[a-z-]+'),/g),
  ].map(([, union = '']) => union);
  return [
    ...new Set(unions.flatMap((union) => [...union.matchAll(/'([a-z-]+)'/g)].map(([, word = '']) => word))),
  ];
}

describe('the Spanish texts of the service', () => {
  it('say what each setting means, and no other', () => {
    const meanings = Object.values(envSchema.shape).map((field) => field.description ?? '');
    expect(Object.keys(SPANISH_SETTINGS).sort()).toEqual([...new Set(meanings)].sort());
  });

  it('say what each reason and error code means, and no other', () => {
    const codes = codesOfDocs();
    expect(codes).toEqual(
      expect.arrayContaining(['no-route', 'AGENT_TIMEOUT', 'INVALID_BODY', 'SHELL_RESTARTED']),
    );
    expect(Object.keys(SPANISH_CODES).sort()).toEqual(codes);
  });

  it('say each sentence of a trace, of the state of an account and of a problem, and no other', () => {
    const sentences = new Set([
      ...sentencesIn([`${CORE}/routing`, `${CORE}/policies`, `${CORE}/turns`], { except: [FOR_CHATS] }),
      ...sentencesIn(['router/src/providers/baileys/connection/disconnect-table.ts']),
      ...sentencesIn(['router/src/providers/baileys/connection/account-connection.ts']),
      ...sentencesIn([
        'router/src/providers/baileys/connection/client-versions.ts',
        `${CORE}/client-version.ts`,
      ]),
      ...sentencesIn([`${CORE}/delivery/number-look-ups.ts`]),
      ...sentencesIn(['router/src/providers/baileys/connection/account-proxy.ts']),
      ...sentencesIn(['router/src/providers/baileys/account/account-problems.ts']),
      ...sentencesIn(['router/src/providers/baileys/account/passkey-ceremony.ts']),
      ...sentencesIn([ENCRYPTED_EDITS]),
      ...sentencesIn([`${CORE}/cluster/cluster-view.ts`]),
      ...sentencesIn([`${OPERATIONS}/guard.ts`, `${OPERATIONS}/restrictions.ts`]),
      ...problemSentencesIn([OPERATIONS, ...FEATURES]),
    ]);
    expect(sentences.size).toBeGreaterThan(150);
    expect(Object.keys(SPANISH_SENTENCES).sort()).toEqual([...sentences].sort());
  });

  it('say each mistake in a field of a form, and no other', () => {
    const settings = readdirSync(join(repositoryRoot, AGENTS), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?:-settings|-settings-check|-fields)\.ts$/.test(name))
      .map((name) => `${AGENTS}/${name}`);
    const mistakes = mistakesIn([
      OPERATIONS,
      ...FEATURES,
      ...settings,
      ...[`${CORE}/routing`, `${CORE}/policies`, `${CORE}/access`],
      `${CORE}/account-proxy.ts`,
    ]);
    expect(mistakes.length).toBeGreaterThan(100);
    expect(Object.keys(SPANISH_MISTAKES).sort()).toEqual(mistakes);
  });

  it('have a word for each step of a trace and what it came to', () => {
    const words = wordsOfTraces();
    expect(words).toEqual(
      expect.arrayContaining(['agent', 'answered', 'not-reached', 'same-route', 'egress-filter']),
    );
    expect(words.filter((word) => !Object.hasOwn(SPANISH_WORDS, word))).toEqual([]);
  });

  it('have the same values, numbers and names as the English ones', () => {
    const numbersOf = (text: string) =>
      (text.replaceAll(/(\d)[.,](\d{3})/g, '$1$2').match(/\d+/g) ?? []).sort().join(' ');
    const namesOf = (text: string) =>
      (text.match(/\b(?:WA2AI_[A-Z_]+|[a-z]+[A-Z]\w+|https?:\/\/\S+)/g) ?? []).sort().join(' ');
    const all = Object.entries({ ...SPANISH_SETTINGS, ...SPANISH_SENTENCES, ...SPANISH_MISTAKES });
    for (const [english, spanish] of all) {
      const holes = english.split('{}').length - 1;
      const used = [...spanish.matchAll(/\{(\d+)\}/g)].map(([, number]) => Number(number));
      expect(
        used.every((number) => number >= 1 && number <= holes),
        spanish,
      ).toBe(true);
      expect(numbersOf(spanish.replaceAll(/\{\d+\}/g, '')), spanish).toBe(numbersOf(english));
      expect(namesOf(spanish), spanish).toBe(namesOf(english));
      expect((spanish.match(/`/g) ?? []).length % 2, spanish).toBe(0);
    }
  });
});
