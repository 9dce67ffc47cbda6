import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Wa2aiError } from '../../../router/src/core/errors.ts';
import type { SettingsStore } from '../../../router/src/core/ports/settings-store.ts';
import { PostgresSettings } from '../../../router/src/infra/db/stores/postgres-settings.ts';
import { MemorySettings } from '../../doubles/memory-settings.ts';
import { createTestDatabase } from '../../support/database.ts';

const adapters: Array<[string, () => Promise<SettingsStore>]> = [
  ['memory', async () => new MemorySettings()],
  [
    'PostgreSQL',
    async () => {
      const database = await createTestDatabase();
      onTestFinished(() => database.drop());
      return new PostgresSettings(database.open());
    },
  ],
];

describe.each(adapters)('settings of servers in %s', (_name, open) => {
  it('stores the first of several settings that nodes make at once', async () => {
    const settings = await open();
    const made = await Promise.all([1, 2, 3].map((pem) => settings.putFirst('key', { pem })));
    const stored = await settings.get('key');
    expect(made).toEqual([stored, stored, stored]);
    expect(await settings.putFirst('key', { pem: 4 })).toEqual(stored);
    await settings.put('key', { pem: 5 });
    expect(await settings.get('key')).toEqual({ pem: 5 });
  });

  it('replaces only what its check has seen: of several changes at once, one is stored', async () => {
    const settings = await open();
    const unless = (seen: unknown) => (stored: unknown) => {
      if (!isDeepStrictEqual(stored, seen))
        throw new Wa2aiError('PRECONDITION_FAILED', 'dead', { sentence: 'It is another.' });
    };
    let seen: unknown;
    for (const round of [1, 2, 3]) {
      const made = await Promise.allSettled(
        [1, 2, 3, 4].map((by) => settings.put('npc', { round, by }, unless(seen))),
      );
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const by = made.findIndex(({ status }) => status === 'fulfilled') + 1;
      seen = await settings.get('npc');
      expect(seen).toEqual({ round, by });
    }
    await settings.put('npc', { any: true }, () => undefined);
    expect(await settings.get('npc')).toEqual({ any: true });
  });
});
