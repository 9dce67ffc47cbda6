import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Route } from '../../../router/src/core/models.ts';
import type { NewRoute, RouteChangeBy, RouteStore } from '../../../router/src/core/ports/route-store.ts';
import type { RouteHistory } from '../../../router/src/features/routes/postgres-route-history.ts';
import { PostgresRouteHistory } from '../../../router/src/features/routes/postgres-route-history.ts';
import { parseDataKeys, SecretCipher } from '../../../router/src/infra/db/encryption/secret-cipher.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { MemoryRouteStore } from '../../doubles/memory-route-store.ts';
import { testDatabase } from '../../support/database.ts';

interface Opened {
  routes: RouteStore;
  history: RouteHistory;
  /** Gives a version another number. */
  renumber(from: number, to: number): Promise<void>;
}

const database = testDatabase();

const secrets = new SecretCipher(parseDataKeys(randomBytes(32).toString('hex'), 'the test keys'));

const adapters: Array<[string, () => Promise<Opened>]> = [
  [
    'memory',
    async () => {
      let nowMs = Date.UTC(2026, 0, 1);
      const memory = new MemoryRouteStore(() => nowMs++);
      return { routes: memory, history: memory, renumber: async (from, to) => memory.renumber(from, to) };
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const postgres = database.open({ secrets });
      await postgres.execute(sql`DELETE FROM route`);
      await postgres.execute(sql`DELETE FROM route_version`);
      return {
        routes: new PostgresRouteStore(postgres),
        history: new PostgresRouteHistory(postgres),
        renumber: async (from, to) => {
          await postgres.execute(
            sql`UPDATE route_version SET number = ${to}::integer WHERE number = ${from}::integer`,
          );
        },
      };
    },
  ],
];

const by = (action: RouteChangeBy['action']): RouteChangeBy => ({ action, caller: 'key', keyId: 'k1' });

function aRoute(given: Partial<NewRoute> = {}): NewRoute {
  return {
    accountId: 'main',
    channelId: '5493777239922',
    agentEndpoint: 'http://127.0.0.1:8000',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: { agent: { kind: 'adk', settings: { appName: 'a', headers: { 'x-key': 'hunter2' } } } },
    ...given,
  };
}

const withoutTimes = (routes: Route[]) => routes.map(({ updatedAt: _, ...route }) => route);

describe.each(adapters)('route history in %s', (_name, open) => {
  let { routes, history, renumber } = {} as Opened;
  beforeEach(async () => {
    ({ routes, history, renumber } = await open());
  });

  it('has no version before the first change', async () => {
    expect(await history.newest()).toBe(0);
    expect(await history.versions({ limit: 10 })).toEqual([]);
    expect(await history.version(1)).toBeUndefined();
    expect(await history.tableAt(0)).toEqual([]);
  });

  it('stores each change as a version with its caller, newest first', async () => {
    const { id } = await routes.create(aRoute({ name: 'first' }), by('create'));
    await routes.update(id, { priority: 2 }, by('change'));
    await routes.delete(id);
    const found = await history.versions({ limit: 10 });
    const named = [{ id, name: 'first', channelId: '5493777239922' }];
    const none = { created: 0, changed: 0, deleted: 0 };
    expect(found).toEqual([
      { number: 3, at: expect.any(Date), action: 'delete', ...none, deleted: 1, routes: named },
      { number: 2, at: expect.any(Date), ...by('change'), ...none, changed: 1, routes: named },
      { number: 1, at: expect.any(Date), ...by('create'), ...none, created: 1, routes: named },
    ]);
    expect(await history.versions({ before: 3, limit: 1 })).toEqual([found[1]]);
    expect(await history.newest()).toBe(3);
  });

  it('has each route before and after a version, with its secrets', async () => {
    const created = await routes.create(aRoute());
    const changed = await routes.update(created.id, { priority: 2 });
    await routes.delete(created.id);
    expect((await history.version(1))?.changes).toEqual([{ after: created }]);
    expect((await history.version(2))?.changes).toEqual([{ before: created, after: changed }]);
    expect((await history.version(3))?.changes).toEqual([{ before: changed }]);
    expect((await history.version(3))?.version.number).toBe(3);
  });

  it('makes no version of a change that changes nothing', async () => {
    const { id } = await routes.create(aRoute());
    await routes.update(id, { priority: 0 });
    await routes.delete('00000000-0000-4000-8000-000000000000');
    expect(await history.newest()).toBe(1);
  });

  it('has the table of every version', async () => {
    const first = await routes.create(aRoute({ name: 'first' }));
    const second = await routes.create(aRoute({ name: 'second' }));
    await routes.update(first.id, { name: 'renamed' });
    await routes.delete(second.id);
    expect(await history.tableAt(0)).toEqual([]);
    expect(await history.tableAt(1)).toEqual([first]);
    expect(await history.tableAt(2)).toEqual([first, second]);
    expect((await history.tableAt(3)).map(({ name }) => name)).toEqual(['renamed', 'second']);
    expect(await history.tableAt(4)).toEqual(await routes.list());
  });

  it('stores several changes as one version', async () => {
    const kept = await routes.create(aRoute());
    const gone = await routes.create(aRoute());
    const id = '01900000-0000-7000-8000-000000000001';
    const made = await routes.write(
      {
        create: [aRoute({ name: 'new' }), { ...aRoute({ name: 'named' }), id }],
        update: [{ id: kept.id, change: { enabled: false } }],
        delete: [gone.id],
      },
      by('apply'),
      2,
    );
    expect(made).toBe(3);
    expect(await history.versions({ limit: 1 })).toMatchObject([
      { number: 3, action: 'apply', created: 2, changed: 1, deleted: 1 },
    ]);
    const found = await routes.list();
    expect(found.map(({ name }) => name).sort()).toEqual(['named', 'new', undefined]);
    expect(found.find(({ name }) => name === 'named')?.id).toBe(id);
    expect(await routes.get(kept.id)).toMatchObject({ enabled: false });
  });

  it('stores nothing of changes that were made for an older version', async () => {
    const { id } = await routes.create(aRoute());
    const changes = { create: [aRoute()], update: [], delete: [id] };
    expect(await routes.write(changes, by('apply'), 0)).toBe('outdated');
    expect(await routes.restore(0, by('rollback'), 0)).toBe('outdated');
    expect(await routes.list()).toHaveLength(1);
    expect(await history.newest()).toBe(1);
  });

  it('lets one of two concurrent changes win', async () => {
    const write = () => routes.write({ create: [aRoute()], update: [], delete: [] }, by('apply'), 0);
    const results = await Promise.all([write(), write(), write()]);
    expect(results.filter((result) => result === 1)).toHaveLength(1);
    expect(results.filter((result) => result === 'outdated')).toHaveLength(2);
    expect(await routes.list()).toHaveLength(1);
  });

  it('restores a version with ids, age and secrets, and can restore what was before that', async () => {
    const first = await routes.create(aRoute({ name: 'first' }));
    const second = await routes.create(aRoute({ name: 'second', regexFilter: 'x' }));
    await routes.update(first.id, {
      name: undefined,
      config: { agent: { kind: 'adk', settings: { appName: 'b' } } },
    });
    await routes.delete(second.id);
    await routes.create(aRoute({ name: 'third' }));
    const before = await routes.list();

    expect(await routes.restore(2, by('rollback'), 5)).toBe(6);
    expect(withoutTimes(await routes.list())).toEqual(withoutTimes([first, second]));
    expect(await history.versions({ limit: 1 })).toMatchObject([
      { number: 6, ...by('rollback'), restored: 2, created: 1, changed: 1, deleted: 1 },
    ]);
    expect(await routes.restore(5, by('rollback'), 6)).toBe(7);
    expect(withoutTimes(await routes.list())).toEqual(withoutTimes(before));
    expect(await routes.restore(5, by('rollback'), 7)).toBe(7);
  });

  it('keeps the newest 1,000 versions', async () => {
    const { id } = await routes.create(aRoute());
    await routes.update(id, { priority: 1 });
    await routes.update(id, { priority: 2 });
    await renumber(3, 1_001);
    expect((await history.versions({ limit: 10 })).map(({ number }) => number)).toEqual([1_001, 2, 1]);
    await routes.update(id, { priority: 3 });
    expect((await history.versions({ limit: 10 })).map(({ number }) => number)).toEqual([1_002, 1_001]);
    expect(await history.version(2)).toBeUndefined();
    expect(await history.tableAt(1_000)).toMatchObject([{ id, priority: 1 }]);
  });
});

describe('route history in PostgreSQL', () => {
  it('stores configs encrypted as the routes are', async () => {
    const postgres = database.open({ secrets });
    const { id } = await new PostgresRouteStore(postgres).create(aRoute());
    const stored = await postgres.query<{ after: unknown }>(
      sql`SELECT after FROM route_version_change WHERE route_id = ${id}::uuid`,
    );
    expect(stored).toMatchObject([{ after: { config: { encrypted: expect.stringMatching(/^wa2ai:1:/) } } }]);
    expect(JSON.stringify(stored)).not.toContain('hunter2');
  });

  it('has changes that were made in SQL, without a caller', async () => {
    const postgres = database.open({ secrets });
    await postgres.execute(sql`DELETE FROM route`);
    const { id } = await new PostgresRouteStore(postgres).create(aRoute());
    await postgres.execute(sql`UPDATE route SET priority = 9 WHERE id = ${id}::uuid`);
    const history = new PostgresRouteHistory(postgres);
    const [version] = await history.versions({ limit: 1 });
    expect(version).toMatchObject({ action: 'change', changed: 1, routes: [{ id }] });
    expect(version?.caller).toBeUndefined();
  });
});
