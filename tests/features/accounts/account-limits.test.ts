import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AccountStore } from '../../../router/src/core/ports/account-store.ts';
import { PostgresAccountStore } from '../../../router/src/features/accounts/postgres-account-store.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { anAccount } from '../../contracts/adapters.ts';
import { MemoryAccountStore } from '../../doubles/memory-account-store.ts';
import { testDatabase } from '../../support/database.ts';

const HOUR_MS = 3_600_000;

const database = testDatabase();
let postgres: Postgres;
let account: string;

beforeAll(async () => {
  postgres = database.open();
});
beforeEach(() => {
  account = anAccount();
});

describe.each<[string, () => AccountStore]>([
  ['memory', () => new MemoryAccountStore()],
  ['PostgreSQL', () => new PostgresAccountStore(postgres)],
])('account limits in %s', (_name, open) => {
  let store: AccountStore;
  beforeEach(() => {
    store = open();
  });

  it('are separate for each kind and each account', async () => {
    await store.beginLimit(account, { kind: 'new-contacts', reason: 'Limited (463).', forMs: HOUR_MS });
    await store.beginLimit(account, { kind: 'connection', reason: 'Banned (402).', forMs: 2 * HOUR_MS });
    const [ban, limit, ...rest] = await store.limits(account);
    expect(rest).toEqual([]);
    expect(ban).toMatchObject({ kind: 'connection', reason: 'Banned (402).' });
    expect(limit).toMatchObject({ kind: 'new-contacts', reason: 'Limited (463).' });
    expect(limit?.forMs).toBeLessThanOrEqual(HOUR_MS);
    expect(limit?.forMs).toBeGreaterThan(HOUR_MS - 60_000);
    expect(await store.limits(anAccount())).toEqual([]);
  });

  it('are replaced by the next one of the same kind, and can be removed before they end', async () => {
    await store.beginLimit(account, { kind: 'new-contacts', reason: 'one', forMs: HOUR_MS });
    await store.beginLimit(account, { kind: 'new-contacts', reason: 'two', forMs: 60_000 });
    const [limit] = await store.limits(account);
    expect(limit?.reason).toBe('two');
    expect(limit?.forMs).toBeLessThanOrEqual(60_000);
    await store.endLimit(account, 'connection');
    expect(await store.limits(account)).toHaveLength(1);
    await store.endLimit(account, 'new-contacts');
    expect(await store.limits(account)).toEqual([]);
  });

  it('are absent after their end', async () => {
    await store.beginLimit(account, { kind: 'new-contacts', reason: 'short', forMs: -1 });
    expect(await store.limits(account)).toEqual([]);
  });
});

it('does not extend a limit when the database clock is set back', async () => {
  const store = new PostgresAccountStore(postgres);
  await store.beginLimit(account, { kind: 'new-contacts', reason: 'Limited (463).', forMs: HOUR_MS });
  // A time five hours ahead is one written before the clock was set back by five hours.
  await postgres.execute(sql`
    UPDATE account_limit SET since = since + interval '5 hours', until = until + interval '5 hours'
    WHERE account_id = ${account}`);
  expect((await store.limits(account))[0]?.forMs).toBe(HOUR_MS);
});
