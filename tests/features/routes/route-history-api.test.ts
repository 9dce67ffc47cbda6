import { expect, it } from 'vitest';
import { CHAT_IMAGE } from '../../support/hosted-agents.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

const ROUTE = {
  name: 'support',
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  config: { adk: { appName: 'a', headers: { Authorization: 'hunter2' } } },
};

const history = (path = '') => api.call('GET', `/api/routes/history${path}`);
const rollback = (body: object, query = '') => api.call('POST', `/api/routes/rollback${query}`, body);

async function threeVersions(): Promise<string> {
  const { id } = (await api.call('POST', '/api/routes', ROUTE)).body.data;
  await api.call('PATCH', `/api/routes/${id}`, { priority: 5, config: { adk: { appName: 'b' } } });
  await api.call('DELETE', `/api/routes/${id}`);
  return id;
}

it('lists who changed what, newest first, in pages', async () => {
  const id = await threeVersions();
  const first = (await history('?limit=2')).body;
  expect(first).toEqual({
    success: true,
    count: 2,
    next: '2',
    data: [
      {
        ...{ version: 3, at: '2026-01-02T03:04:05.000Z', action: 'delete', caller: 'loopback' },
        ...{ created: 0, changed: 0, deleted: 1, routes: [{ id, name: 'support', channelId: '*' }] },
      },
      expect.objectContaining({ version: 2, action: 'change', changed: 1 }),
    ],
  });
  const second = (await history('?limit=2&cursor=2')).body;
  expect(second.data).toMatchObject([{ version: 1, action: 'create', created: 1 }]);
  expect(second.next).toBeUndefined();
});

it('names the key that changed a route', async () => {
  const key = await api.addKey({ scopes: ['routes:write'] });
  await api.call('POST', '/api/routes', ROUTE, { 'x-api-key': key });
  const keyId = key.split('_')[1];
  expect((await history()).body.data).toMatchObject([{ caller: 'key', keyId }]);
});

it('shows each field that a version changed, and the table then, without secrets', async () => {
  const id = await threeVersions();
  const { body, text } = await history('/2');
  expect(body.data).toMatchObject({
    version: 2,
    changes: [
      {
        change: 'changed',
        routeId: id,
        name: 'support',
        channelId: '*',
        fields: [
          { field: 'priority', before: 0, after: 5 },
          { field: 'config.adk.appName', before: 'a', after: 'b' },
        ],
      },
    ],
    table: [{ id, priority: 5, config: { adk: { appName: 'b', headers: { Authorization: '***' } } } }],
  });
  expect(text).not.toContain('hunter2');
  const deleted = (await history('/3')).body.data;
  expect([deleted.changes[0].change, deleted.table]).toEqual(['deleted', []]);
  expect(deleted.changes[0].fields).toContainEqual({
    field: 'config.adk.headers.Authorization',
    before: '***',
  });
});

it.each(['/4', '/0', '/x', '/-1', '/99999999999'])('has no version %s', async (path) => {
  await threeVersions();
  expect((await history(path)).status).toBe(404);
});

it('restores a version as a new one, which can be undone', async () => {
  const id = await threeVersions();
  const { status, body, text } = await rollback({ version: 1 });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    message: 'Version 1 restored.',
    data: { version: 4, changes: [{ change: 'created', routeId: id }] },
  });
  expect(text).not.toContain('hunter2');
  expect((await api.routes.get(id))?.config.agent?.settings).toEqual(ROUTE.config.adk);
  expect((await history('/4')).body.data).toMatchObject({ action: 'rollback', restored: 1, created: 1 });
  await rollback({ version: 3 });
  expect(await api.routes.list()).toEqual([]);
  await rollback({ version: 0 });
  expect((await history()).body.data[0].version).toBe(5);
});

it('says what a rollback would change, and changes nothing with dryRun', async () => {
  await threeVersions();
  const { body } = await rollback({ version: 2 }, '?dryRun=true');
  expect(body.data).toMatchObject({ version: 3, changes: [{ change: 'created' }] });
  expect((await history()).body.data[0].version).toBe(3);
  expect(await api.routes.list()).toEqual([]);
});

it('refuses versions that are not known, and a table that the caller has not seen', async () => {
  await threeVersions();
  expect((await rollback({ version: 9 })).status).toBe(404);
  const outdated = await rollback({ version: 1, expectedVersion: 2 });
  expect([outdated.status, outdated.body.code]).toEqual([409, 'ROUTES_CHANGED']);
  expect((await rollback({ version: 1, expectedVersion: 3 })).status).toBe(200);
});

it('refuses keys for some routes or chats only, and keys that may only read', async () => {
  const id = await threeVersions();
  const codes = [];
  for (const restriction of [{ routes: [id] }, { chats: ['5493777239922'] }]) {
    const headers = { 'x-api-key': await api.addKey({ scopes: ['routes:write'], ...restriction }) };
    for (const path of ['', '/1']) {
      codes.push((await api.call('GET', `/api/routes/history${path}`, undefined, headers)).body.code);
    }
    codes.push((await api.call('POST', '/api/routes/rollback', { version: 1 }, headers)).body.code);
  }
  expect(codes).toEqual([...Array(3).fill('ROUTE_NOT_ALLOWED'), ...Array(3).fill('CHAT_NOT_ALLOWED')]);
  const reader = { 'x-api-key': await api.addKey({ scopes: ['routes:read'] }) };
  expect((await api.call('GET', '/api/routes/history', undefined, reader)).status).toBe(200);
  expect((await api.call('POST', '/api/routes/rollback', { version: 1 }, reader)).status).toBe(403);
});

it('refuses a rollback to a route that runs programs, to a key that may not make wa2ai do so', async () => {
  const hosted = { channelId: '5493777239922', config: { hosted: { image: CHAT_IMAGE } } };
  const created = await api.call('POST', '/api/routes', hosted);
  expect(created.body).toMatchObject({ success: true });
  await api.call('DELETE', `/api/routes/${created.body.data.id}`);
  const headers = { 'x-api-key': await api.addKey({ scopes: ['routes:write'] }) };
  const refused = await api.call('POST', '/api/routes/rollback', { version: 1 }, headers);
  expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_MISSING']);
  expect(await api.routes.list()).toEqual([]);
});
