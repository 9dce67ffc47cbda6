import sql from 'sql-template-tag';
import { beforeEach, describe, expect, it } from 'vitest';
import { Wa2aiError } from '../../../router/src/core/errors.ts';
import type { NewRoute, RouteAction, RouteChangeBy } from '../../../router/src/core/ports/route-store.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { anAccount, describeStores } from '../../contracts/adapters.ts';
import { testDatabase } from '../../support/database.ts';

function aRoute(accountId: string, given: Partial<NewRoute> = {}): NewRoute {
  return {
    accountId,
    channelId: '5493777239922',
    agentEndpoint: 'http://127.0.0.1:8000',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: { agent: { kind: 'adk', settings: { appName: 'test_agent' } } },
    ...given,
  };
}

const define: Parameters<typeof describeStores>[1] = (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  it('assigns id and times to a created route, and reads it back unchanged', async () => {
    const route = aRoute(accountId, {
      regexFilter: '^hola',
      name: 'greetings',
      priority: -3,
      enabled: false,
      environment: 'prod',
      config: {
        agent: { kind: 'adk', settings: { appName: 'a', headers: { 'x-key': 'v' }, timeoutMs: 500 } },
        notices: { failed: 'sorry' },
      },
    });
    const created = await stores.routes.create(route);
    expect(created).toMatchObject(route);
    expect(created.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(created.createdAt).toBeInstanceOf(Date);
    expect(await stores.routes.get(created.id)).toEqual(created);
  });

  it('omits absent fields', async () => {
    const created = await stores.routes.create(aRoute(accountId));
    const read = await stores.routes.get(created.id);
    expect(read?.regexFilter).toBeUndefined();
    expect(read?.name).toBeUndefined();
    expect(read?.config).toEqual({ agent: { kind: 'adk', settings: { appName: 'test_agent' } } });
  });

  it.each([
    '00000000-0000-4000-8000-000000000000',
    'not-a-uuid',
    '5493777239922',
    "'; DROP TABLE route; --",
    '',
  ])('finds no route %j', async (id) => {
    expect(await stores.routes.get(id)).toBeUndefined();
    expect(await stores.routes.update(id, { priority: 1 })).toBeUndefined();
    expect(await stores.routes.delete(id)).toBe(false);
  });

  it('lists routes oldest first, filtered by channel and account', async () => {
    const made = [];
    for (const channelId of ['1111111', '*', '1111111']) {
      made.push(await stores.routes.create(aRoute(accountId, { channelId })));
    }
    await stores.routes.create(aRoute(anAccount(), { channelId: '1111111' }));
    const ids = made.map((route) => route.id);
    expect((await stores.routes.list({ accountId })).map((route) => route.id)).toEqual(ids);
    const narrowed = await stores.routes.list({ accountId, channelId: '1111111' });
    expect(narrowed.map((route) => route.id)).toEqual([ids[0], ids[2]]);
    const all = (await stores.routes.list()).map((route) => route.id);
    expect(all.filter((id) => ids.includes(id))).toEqual(ids);
  });

  it('changes only the given fields, and clears a field given as undefined', async () => {
    const created = await stores.routes.create(
      aRoute(accountId, { regexFilter: 'x', name: 'n', priority: 4 }),
    );
    const changed = await stores.routes.update(created.id, { regexFilter: undefined, enabled: false });
    expect(changed).toMatchObject({ id: created.id, name: 'n', priority: 4, enabled: false });
    expect(changed?.regexFilter).toBeUndefined();
    expect(changed?.createdAt).toEqual(created.createdAt);
    expect(changed?.updatedAt.getTime()).toBeGreaterThanOrEqual(created.updatedAt.getTime());
    expect(await stores.routes.get(created.id)).toEqual(changed);
    const config = { agent: { kind: 'adk', settings: { appName: 'b' } } };
    expect(await stores.routes.update(created.id, { config })).toMatchObject({ config, enabled: false });
  });

  it('makes a change only of the route that its check has seen: of several at once, one is stored', async () => {
    const by = (action: RouteAction): RouteChangeBy => ({ action, caller: 'admin-key' });
    const { id } = await stores.routes.create(aRoute(accountId, { name: 'first' }));
    let seen = 'first';
    const check = ({ name }: { name?: string }) => {
      if (name !== seen) throw new Wa2aiError('PRECONDITION_FAILED', 'dead', { sentence: 'It is another.' });
    };
    // In the first round the connections open one after the other, so that the changes are not at once.
    for (const round of [1, 2, 3]) {
      const names = ['a', 'b', 'c', 'd'].map((letter) => `${letter}${round}`);
      const results = await Promise.allSettled(
        names.map((name) => stores.routes.update(id, { name }, by('change'), check)),
      );
      const stored = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(stored).toEqual([await stores.routes.get(id)]);
      seen = stored[0]?.name ?? '';
    }
    const stored = await stores.routes.get(id);
    seen = 'first';
    await expect(stores.routes.update(id, { name: 'fifth' }, undefined, check)).rejects.toThrow(Wa2aiError);
    await expect(stores.routes.delete(id, by('delete'), check)).rejects.toThrow(Wa2aiError);
    expect(await stores.routes.get(id)).toEqual(stored);
    expect(await stores.routes.delete(id, by('delete'), () => undefined)).toBe(true);
    expect(await stores.routes.delete(id, by('delete'), check)).toBe(false);
  });

  it('deletes once', async () => {
    const { id } = await stores.routes.create(aRoute(accountId));
    expect(await stores.routes.delete(id)).toBe(true);
    expect(await stores.routes.delete(id)).toBe(false);
    expect(await stores.routes.get(id)).toBeUndefined();
  });

  it('returns the routes of the chat and the wildcard of this account and environment as candidates', async () => {
    const create = async (given: Partial<NewRoute>) =>
      (await stores.routes.create(aRoute(accountId, given))).id;
    const wanted = [
      await create({ channelId: '1111111' }),
      await create({ channelId: '*', enabled: false }),
      await create({ channelId: '777@lid', priority: 9 }),
    ];
    await create({ channelId: '2222222' });
    await create({ channelId: '1111111', environment: 'prod' });
    await stores.routes.create(aRoute(anAccount(), { channelId: '1111111' }));
    const query = { accountId, environment: 'lab' as const, channelIds: ['1111111', '777@lid'] };
    expect((await stores.routes.candidates(query)).map((route) => route.id)).toEqual(wanted);
    const [first] = await stores.routes.candidates(query);
    expect(first).toEqual(await stores.routes.get(wanted[0] ?? ''));
    const none = await stores.routes.candidates({ ...query, channelIds: [] });
    expect(none.map((route) => route.id)).toEqual([wanted[1]]);
  });

  it('applies a change to the next lookup', async () => {
    const query = { accountId, environment: 'lab' as const, channelIds: ['5493777239922'] };
    const { id } = await stores.routes.create(aRoute(accountId));
    expect(await stores.routes.candidates(query)).toHaveLength(1);
    await stores.routes.update(id, { channelId: '2222222' });
    expect(await stores.routes.candidates(query)).toHaveLength(0);
  });

  it('stores text with characters that PostgreSQL refuses', async () => {
    const config = { agent: { kind: 'adk', settings: { appName: 'a\0b\ud800' } } };
    const created = await stores.routes.create(aRoute(accountId, { name: 'n\0', config }));
    expect(await stores.routes.update(created.id, { name: '\ud800', config })).toBeDefined();
  });
};

describeStores('route store in $name', define);

describe('route store in PostgreSQL with 20,000 routes', () => {
  const database = testDatabase();

  it('finds the routes of a chat without reading the others', async () => {
    const postgres = database.open({ poolSize: 1 });
    const store = new PostgresRouteStore(postgres);
    const accountId = anAccount();
    await postgres.execute(sql`
      INSERT INTO route (id, account_id, channel_id, agent_endpoint, environment, config, updated_at)
      SELECT gen_random_uuid(), ${accountId}, CASE n WHEN 1 THEN '*' ELSE (5493000000000 + n)::text END,
        'http://127.0.0.1:8000', 'lab', '{"adk":{"appName":"a"}}', now()
      FROM generate_series(1, 20000) AS n`);
    await postgres.execute(sql`ANALYZE route`);
    const rowsRead = async () => {
      await postgres.execute(sql`SELECT pg_stat_force_next_flush()`);
      const [{ rows } = { rows: 0 }] = await postgres.query<{ rows: number }>(sql`
        SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS rows FROM pg_stat_user_tables
        WHERE relname = 'route'`);
      return rows;
    };
    const before = await rowsRead();
    const found = await store.candidates({
      accountId,
      environment: 'lab',
      channelIds: ['5493000000005', '7@lid'],
    });
    expect(found).toHaveLength(2);
    expect((await rowsRead()) - before).toBe(2);
  });
});

describe('route store in PostgreSQL with a damaged config', () => {
  const database = testDatabase();

  it('returns that route as damaged when its encrypted config is not JSON, and the others as they are', async () => {
    const postgres = database.open();
    const store = new PostgresRouteStore(postgres);
    const accountId = anAccount();
    const { id } = await store.create(aRoute(accountId));
    const other = await store.create(aRoute(accountId));
    await postgres.execute(sql`UPDATE route SET config = '{"encrypted":"hunter2"}' WHERE id = ${id}::uuid`);
    const found = await store.list({ accountId });
    expect(found).toMatchObject([{ id, config: {}, damage: expect.stringMatching(/config/) }, other]);
    const query = { accountId, environment: 'lab' as const, channelIds: [other.channelId] };
    expect(await store.candidates(query)).toEqual(found);
  });
});
