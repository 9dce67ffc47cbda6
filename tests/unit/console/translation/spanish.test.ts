import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SPANISH_MISTAKES } from '../../../../console/src/translation/spanish-mistakes.ts';
import { SPANISH_SENTENCES } from '../../../../console/src/translation/spanish-sentences.ts';
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

describe('the Spanish texts of the service', () => {
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

  it('have the same values, numbers and names as the English ones', () => {
    const numbersOf = (text: string) =>
      (text.replaceAll(/(\d)[.,](\d{3})/g, '$1$2').match(/\d+/g) ?? []).sort().join(' ');
    const namesOf = (text: string) =>
      (text.match(/\b(?:WA2AI_[A-Z_]+|[a-z]+[A-Z]\w+|https?:\/\/\S+)/g) ?? []).sort().join(' ');
    const all = Object.entries({ ...SPANISH_SENTENCES, ...SPANISH_MISTAKES });
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
