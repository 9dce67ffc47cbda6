import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { StorageRejectedError } from '../../../router/src/core/errors.ts';
import type { ApiKeyStore, NewApiKey } from '../../../router/src/core/ports/api-key-store.ts';
import { PostgresApiKeyStore } from '../../../router/src/features/access/key-store.ts';
import { MemoryApiKeyStore } from '../../doubles/memory-api-key-store.ts';
import { testDatabase } from '../../support/database.ts';

function aKey(given: Partial<NewApiKey> = {}): NewApiKey {
  return {
    id: randomBytes(6).toString('hex'),
    name: 'a key',
    secretHash: randomBytes(32),
    scopes: ['messages:send'],
    limits: { perMinute: 100, perSecond: 10 },
    ...given,
  };
}

interface Opened {
  keys: ApiKeyStore;
  /** Lets the last use of all keys be so long ago. */
  age(ms: number): Promise<void>;
}

const database = testDatabase();

const adapters: Array<[string, () => Opened]> = [
  [
    'memory',
    () => {
      let nowMs = Date.UTC(2026, 0, 1);
      return {
        keys: new MemoryApiKeyStore(() => nowMs),
        age: async (ms) => {
          nowMs += ms;
        },
      };
    },
  ],
  [
    'PostgreSQL',
    () => {
      const postgres = database.open();
      return {
        keys: new PostgresApiKeyStore(postgres),
        age: async (ms) => {
          await postgres.execute(
            sql`UPDATE api_key SET last_used_at = last_used_at - ${ms} * interval '1 millisecond'`,
          );
        },
      };
    },
  ],
];

describe.each(adapters)('API key store in %s', (_name, open) => {
  let keys: ApiKeyStore;
  let age: Opened['age'];
  beforeAll(() => {
    ({ keys, age } = open());
  });
  const stored = async (id: string) => (await keys.all()).find((key) => key.id === id);

  it('reads a key back unchanged', async () => {
    const key = aKey({
      name: 'ñandú 🦤',
      scopes: ['routes:write', 'admin'],
      chats: ['5493777239922', '7@lid'],
      routes: ['01987c2e-0000-7000-8000-000000000001'],
      limits: { perMinute: 1, perSecond: 2 },
      expiresAt: new Date('2027-01-31T12:00:00.123Z'),
    });
    const created = await keys.create(key);
    const { secretHash, ...shown } = key;
    expect(created).toEqual({ ...shown, createdAt: expect.any(Date) });
    const read = await stored(key.id);
    expect(read).toMatchObject({ ...shown, createdAt: created.createdAt });
    expect(Buffer.from(read?.secretHash ?? []).equals(Buffer.from(secretHash))).toBe(true);
  });

  it('omits absent restrictions, expiry and use', async () => {
    const key = aKey();
    await keys.create(key);
    const { chats, routes, expiresAt, lastUsedAt } = (await stored(key.id)) ?? { chats: [] };
    expect([chats, routes, expiresAt, lastUsedAt]).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('refuses a second key with the same id, and keeps the first', async () => {
    const key = aKey({ name: 'first' });
    await keys.create(key);
    await expect(keys.create({ ...aKey({ name: 'second' }), id: key.id })).rejects.toThrow(
      StorageRejectedError,
    );
    expect((await stored(key.id))?.name).toBe('first');
  });

  it('lists keys oldest first', async () => {
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.push((await keys.create(aKey())).id);
    const listed = (await keys.all()).map(({ id }) => id).filter((id) => made.includes(id));
    expect(new Set(listed)).toEqual(new Set(made));
    const times = (await keys.all()).map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('deletes once', async () => {
    const { id } = await keys.create(aKey());
    expect(await keys.delete(id)).toBe(true);
    expect(await keys.delete(id)).toBe(false);
    expect(await stored(id)).toBeUndefined();
  });

  it('records a use at most once a minute, and none of a deleted key', async () => {
    const { id } = await keys.create(aKey());
    await keys.markUsed(id);
    const first = (await stored(id))?.lastUsedAt;
    expect(first).toBeInstanceOf(Date);
    await keys.markUsed(id);
    expect((await stored(id))?.lastUsedAt).toEqual(first);
    await age(60_001);
    const aged = (await stored(id))?.lastUsedAt;
    await keys.markUsed(id);
    expect((await stored(id))?.lastUsedAt?.getTime()).toBeGreaterThan(aged?.getTime() ?? 0);
    await keys.delete(id);
    await keys.markUsed(id);
    expect(await stored(id)).toBeUndefined();
  });
});

describe('API key store in PostgreSQL', () => {
  it('ignores scopes that it does not know, and keys whose restrictions it cannot read', async () => {
    const postgres = database.open();
    const keys = new PostgresApiKeyStore(postgres);
    const [newer, damaged] = [aKey(), aKey({ chats: ['15550001111'] })];
    await keys.create(newer);
    await keys.create(damaged);
    await postgres.execute(
      sql`UPDATE api_key SET scopes = ARRAY['tasks', 'from:the-future'] WHERE id = ${newer.id}`,
    );
    await postgres.execute(sql`UPDATE api_key SET chats = '{"not": "a list"}' WHERE id = ${damaged.id}`);
    const read = await keys.all();
    expect(read.find(({ id }) => id === newer.id)?.scopes).toEqual(['tasks']);
    expect(read.find(({ id }) => id === damaged.id)).toBeUndefined();
  });
});
