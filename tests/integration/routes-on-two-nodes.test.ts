import { expect, it } from 'vitest';
import { PostgresRouteStore } from '../../router/src/infra/db/stores/postgres-route-store.ts';
import { ADMIN_KEY, startApiNode } from '../support/api-nodes.ts';
import { testDatabase } from '../support/database.ts';

const database = testDatabase();

const route = {
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  config: { adk: { appName: 'a', headers: { Authorization: 'hunter2' } } },
};

it('changes of one node are versions on the other, which can roll them back with their secrets', async () => {
  const [here, there] = [await startApiNode('n1', database), await startApiNode('n2', database)];
  const { id } = (await here.call('POST', '/api/routes', ADMIN_KEY, route)).body.data;
  await there.call('PATCH', `/api/routes/${id}`, ADMIN_KEY, {
    config: { adk: { headers: { Authorization: 'other' } } },
  });
  await here.call('DELETE', `/api/routes/${id}`, ADMIN_KEY);

  const { data } = (await there.call('GET', '/api/routes/history', ADMIN_KEY)).body;
  expect(data.map(({ action, version }: { action: string; version: number }) => [version, action])).toEqual([
    [3, 'delete'],
    [2, 'change'],
    [1, 'create'],
  ]);
  const changed = await here.call('GET', '/api/routes/history/2', ADMIN_KEY);
  expect(changed.body.data.changes[0].fields).toEqual([
    { field: 'config.adk.headers.Authorization', before: '***', after: '***' },
  ]);

  const restored = await there.call('POST', '/api/routes/rollback', ADMIN_KEY, { version: 1 });
  expect(restored.body.data).toMatchObject({ version: 4, changes: [{ change: 'created', routeId: id }] });
  expect(JSON.stringify([data, changed.body, restored.body])).not.toContain('hunter2');
  const stored = await new PostgresRouteStore(database.open()).get(id);
  expect(stored?.config.agent?.settings).toEqual(route.config.adk);
});

it('calls at once on two nodes become versions without gaps, each with its caller', async () => {
  const nodes = [await startApiNode('n3', database), await startApiNode('n4', database)];
  const [node] = nodes;
  const before = (await node?.call('GET', '/api/routes/history', ADMIN_KEY))?.body.data[0].version;
  await Promise.all(
    Array.from({ length: 10 }, (_, n) => nodes[n % 2]?.call('POST', '/api/routes', ADMIN_KEY, route)),
  );
  const { data } = (await node?.call('GET', '/api/routes/history?limit=10', ADMIN_KEY))?.body ?? {};
  expect(data.map(({ version, caller }: { version: number; caller: string }) => [version, caller])).toEqual(
    Array.from({ length: 10 }, (_, n) => [before + 10 - n, 'admin-key']),
  );
});
