import sql from 'sql-template-tag';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ClientVersionStore } from '../../router/src/core/client-version.ts';
import { PostgresClientVersions } from '../../router/src/infra/db/stores/postgres-client-versions.ts';
import { MemoryClientVersions } from '../doubles/memory-client-versions.ts';
import { createTestDatabase } from '../support/database.ts';

const DAY_MS = 86_400_000;
const FOUND = { version: '2.3000.1050000000', url: 'https://web.whatsapp.com/sw.js' };

const adapters: Array<[string, () => Promise<ClientVersionStore>]> = [
  ['memory', async () => new MemoryClientVersions({ now: () => Date.now() })],
  [
    'PostgreSQL',
    async () => {
      const database = await createTestDatabase();
      onTestFinished(() => database.drop());
      return new PostgresClientVersions(database.open());
    },
  ],
];

describe.each(adapters)('versions of WhatsApp Web in %s', (_name, open) => {
  const daily = { maxAgeMs: DAY_MS, minGapMs: 0 };
  const refused = { maxAgeMs: 0, minGapMs: 0 };

  it('know nothing at first', async () => {
    const store = await open();
    expect(await store.read()).toEqual({ versions: [], lookUp: { isRunning: false } });
  });

  it('give one look-up to nodes that begin it at once', async () => {
    const store = await open();
    const begun = await Promise.all([1, 2, 3].map(() => store.begin(daily)));
    expect(begun.filter(Boolean)).toHaveLength(1);
    expect((await store.read()).lookUp).toEqual({ isRunning: true });
    expect(await store.begin(refused)).toBe(false);
  });

  it('make a look-up due a day after a success, and at once for a refusal', async () => {
    const store = await open();
    await store.begin(daily);
    await store.end(FOUND);
    const { versions, lookUp } = await store.read();
    expect(lookUp).toEqual({ ...FOUND, foundAtMs: expect.any(Number), isRunning: false });
    expect(versions).toEqual([{ version: FOUND.version, firstSeenMs: expect.any(Number) }]);
    expect(await store.begin(daily)).toBe(false);
    expect(await store.begin(refused)).toBe(true);
  });

  it('keep the last success when a look-up fails, and wait for the gap before the next one', async () => {
    const store = await open();
    await store.begin(daily);
    await store.end();
    expect((await store.read()).lookUp).toEqual({ isRunning: false });
    expect(await store.begin({ ...daily, minGapMs: 3_600_000 })).toBe(false);
    expect(await store.begin(daily)).toBe(true);
    await store.end(FOUND);
    await store.begin(refused);
    await store.end();
    expect((await store.read()).lookUp).toMatchObject({ ...FOUND, isRunning: false });
  });

  it('keep the time at which a version was first seen, and of its first refusal', async () => {
    const store = await open();
    await store.see(FOUND.version);
    const [first] = (await store.read()).versions;
    await store.setRefused(FOUND.version, true);
    const [refusedFirst] = (await store.read()).versions;
    await store.setRefused(FOUND.version, true);
    await store.see(FOUND.version);
    expect((await store.read()).versions).toEqual([refusedFirst]);
    expect(refusedFirst).toEqual({ ...first, refusedAtMs: expect.any(Number) });
    await store.setRefused(FOUND.version, false);
    expect((await store.read()).versions).toEqual([first]);
  });

  it('know a version that was refused before it was seen', async () => {
    const store = await open();
    await store.setRefused('2.3000.1', true);
    await store.setRefused('2.3000.2', false);
    expect((await store.read()).versions).toEqual([
      { version: '2.3000.1', firstSeenMs: expect.any(Number), refusedAtMs: expect.any(Number) },
    ]);
  });
});

it.each([
  ['is not begun again when its time lies a second ahead', '1 second', false],
  ['is begun again when its time lies an hour ahead', '1 hour', true],
])('a look-up in PostgreSQL %s', async (_what, ahead, isBegun) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const postgres = database.open();
  const store = new PostgresClientVersions(postgres);
  const due = { maxAgeMs: DAY_MS, minGapMs: 60_000 };
  expect(await store.begin(due)).toBe(true);
  await postgres.execute(sql`UPDATE whatsapp_version_look_up SET begun_at = now() + ${ahead}::interval`);
  expect(await store.begin(due)).toBe(isBegun);
});
