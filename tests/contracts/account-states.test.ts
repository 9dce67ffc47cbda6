import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ACCOUNT_STATES } from '../../router/src/core/cluster/account-state.ts';
import { because, say } from '../../router/src/core/phrases.ts';
import type { AccountStore } from '../../router/src/core/ports/account-store.ts';
import {
  forgetOldStateChanges,
  PostgresAccountStore,
} from '../../router/src/features/accounts/postgres-account-store.ts';
import type { Postgres } from '../../router/src/infra/db/postgres.ts';
import { MemoryAccountStore } from '../doubles/memory-account-store.ts';
import { testDatabase } from '../support/database.ts';
import { anAccount } from './adapters.ts';

const database = testDatabase();
let postgres: Postgres;

beforeAll(async () => {
  postgres = database.open();
});

describe.each<[string, () => AccountStore]>([
  ['memory', () => new MemoryAccountStore()],
  ['PostgreSQL', () => new PostgresAccountStore(postgres)],
])('the states of an account in %s', (_name, open) => {
  let store: AccountStore;
  let account: string;
  beforeEach(() => {
    store = open();
    account = anAccount();
  });
  const statesOf = async (limit = 9, before?: string) =>
    (await store.stateChanges(account, { limit, ...(before !== undefined && { before }) })).map(
      ({ state, reason }) => [state, reason],
    );

  it('are stored when the state or its reason changes, and are listed newest first', async () => {
    expect(await statesOf()).toEqual([]);
    await store.save(account, { state: 'pairing' });
    await store.save(account, { state: 'pairing', phone: '34600000001' });
    await store.save(account, { state: 'waiting', reason: 'No network.' });
    await store.save(account, { state: 'waiting', reason: 'WhatsApp closed the connection.' });
    await store.save(account, { state: 'open' });
    await store.save(anAccount(), { state: 'stopped' });
    expect(await statesOf()).toEqual([
      ['open', undefined],
      ['waiting', 'WhatsApp closed the connection.'],
      ['waiting', 'No network.'],
      ['pairing', undefined],
    ]);
  });

  it.each(ACCOUNT_STATES)('can be %s', async (state) => {
    await store.save(account, { state });
    expect(await statesOf()).toEqual([[state, undefined]]);
    expect((await store.load(account)).state).toBe(state);
  });

  it('have the phrases of their reasons', async () => {
    const why = because(say('account.logged-out', { code: 401 }));
    await store.save(account, { state: 'logged-out', ...why });
    expect(await store.load(account)).toMatchObject(why);
    expect(await store.stateChanges(account, { limit: 9 })).toMatchObject([why]);
    await store.save(account, { state: 'waiting', reason: 'No network.' });
    expect((await store.load(account)).phrase).toBeUndefined();
    await store.beginLimit(account, { kind: 'connection', ...why, forMs: 60_000 });
    expect(await store.limits(account)).toMatchObject([why]);
  });

  it('come in pages', async () => {
    for (const state of ['pairing', 'open', 'stopped'] as const) await store.save(account, { state });
    const [first, second] = await store.stateChanges(account, { limit: 2 });
    expect([first?.state, second?.state]).toEqual(['stopped', 'open']);
    expect(await statesOf(2, second?.id)).toEqual([['pairing', undefined]]);
  });
});

describe('the phrase of a reason', () => {
  it('does not count after an earlier version has replaced the reason', async () => {
    const account = anAccount();
    const store = new PostgresAccountStore(postgres);
    await store.save(account, { state: 'replaced', ...because(say('account.replaced')) });
    await postgres.execute(sql`UPDATE account SET reason = 'No network.' WHERE id = ${account}`);
    expect(await store.load(account)).toEqual({ state: 'replaced', reason: 'No network.', generation: 1 });
  });
});

describe('retention of the states of accounts', () => {
  it('keeps the newest 500 of each account', async () => {
    const [busy, quiet] = [anAccount(), anAccount()];
    const store = new PostgresAccountStore(postgres);
    for (const id of [busy, quiet]) await store.save(id, { state: 'open' });
    await postgres.execute(sql`
      INSERT INTO account_state_change (account_id, state, node)
      SELECT ${busy}, 'waiting', 'n' FROM generate_series(1, 600)`);
    await forgetOldStateChanges(postgres);
    const kept = await store.stateChanges(busy, { limit: 1_000 });
    expect(kept).toHaveLength(500);
    expect(kept.every(({ state }) => state === 'waiting')).toBe(true);
    expect(await store.stateChanges(quiet, { limit: 9 })).toHaveLength(1);
  });
});
