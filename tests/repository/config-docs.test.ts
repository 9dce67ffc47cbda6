import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { envSchema } from '../../router/src/config/config.ts';
import { envExample, settingsPage } from '../support/config-docs.ts';
import { repositoryRoot } from '../support/repository.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

/** A row of a table of docs/settings.md: variable, values, default, meaning. */
const ROW = /^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$/gm;

const OF_TESTS = ['WA2AI_WHATSAPP_WS_URL', 'WA2AI_WHATSAPP_MEDIA_HOST', 'WA2AI_FAULT_POINT'];

describe('the documents written from the settings (node scripts/write-docs.mjs)', () => {
  it('.env.example is current', () => {
    expect(read('.env.example')).toBe(envExample());
  });

  it('docs/settings.md is current', () => {
    expect(read('docs/settings.md')).toBe(settingsPage());
  });

  it('have every setting that is not for tests once, in a group, with values, default and a sentence', () => {
    const page = settingsPage();
    const rows = [...page.matchAll(ROW)];
    expect(rows.map(([, name]) => name)).toEqual(
      Object.keys(envSchema.shape).filter((name) => !OF_TESTS.includes(name)),
    );
    expect(read('CONTRIBUTING.md').match(/^\| `WA2AI_\w+` \|/gm)).toEqual(
      OF_TESTS.map((name) => `| \`${name}\` |`),
    );
    for (const [row, , , , meaning] of rows) expect(meaning, row).toMatch(/^[A-Z].*\.$/);
    expect([...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual([
      ...[
        'Service',
        'Several nodes',
        'WhatsApp',
        'Agents',
        'Hosted agents',
        'Files',
        'Retention',
        'Logs',
        'Advanced',
        'Earlier names',
      ],
    ]);
  });

  it('show a default only where the schema has one', () => {
    const defaults = [...settingsPage().matchAll(ROW)].map(([, name, , shown]) => [name, shown]);
    expect(defaults).toContainEqual(['WA2AI_PORT', '`3000`']);
    expect(defaults).toContainEqual(['DATABASE_URL', 'none']);
    expect(defaults).toContainEqual(['WA2AI_NODE_ID', 'stable per data folder']);
  });
});
