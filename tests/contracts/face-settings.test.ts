import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaceSettings } from '../../router/src/core/ports/face-settings.ts';
import { PostgresFaceSettings } from '../../router/src/infra/storage/stores/postgres-face-settings.ts';
import { MemoryFaceSettings } from '../doubles/memory-face-settings.ts';
import { createTestDatabase } from '../support/database.ts';

const adapters: Array<[string, () => Promise<FaceSettings>]> = [
  ['memory', async () => new MemoryFaceSettings()],
  [
    'PostgreSQL',
    async () => {
      const database = await createTestDatabase();
      onTestFinished(() => database.drop());
      return new PostgresFaceSettings(database.open());
    },
  ],
];

describe.each(adapters)('settings of faces in %s', (_name, open) => {
  it('stores the first of several settings that nodes make at once', async () => {
    const settings = await open();
    const made = await Promise.all([1, 2, 3].map((pem) => settings.putFirst('key', { pem })));
    const stored = await settings.get('key');
    expect(made).toEqual([stored, stored, stored]);
    expect(await settings.putFirst('key', { pem: 4 })).toEqual(stored);
    await settings.put('key', { pem: 5 });
    expect(await settings.get('key')).toEqual({ pem: 5 });
  });
});
