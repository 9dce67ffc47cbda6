import { expect, it } from 'vitest';
import { inRouteOrder } from '../../../router/src/core/routing/route-message.ts';
import { httpApi } from '../../support/http-api.ts';
import { aRoute } from '../../support/routes.ts';

const api = httpApi();

const order = (body: object) => api.call('PUT', '/api/routes/order', body);

async function someRoutes(...channelIds: string[]): Promise<string[]> {
  const ids = [];
  for (const channelId of channelIds) {
    ids.push((await api.routes.create(aRoute({ channelId }))).id);
    api.clock.nowMs += 1;
  }
  return ids;
}

it('puts routes in the given order, as one version', async () => {
  const [first = '', second = '', third = '', any = ''] = await someRoutes(
    '1111111',
    '1111111',
    '1111111',
    '*',
  );
  const ids = [third, first, second, any];
  const { status, body } = await order({ ids });
  expect(status).toBe(200);
  expect(body.data).toEqual({
    version: 5,
    priorities: ids.map((id, index) => ({ id, priority: 40 - index * 10 })),
  });
  expect(inRouteOrder(await api.routes.list()).map(({ id }) => id)).toEqual(ids);
  const [version] = (await api.call('GET', '/api/routes/history?limit=1')).body.data;
  expect(version).toMatchObject({ action: 'order', changed: 4 });
});

it('stores nothing when the routes are in this order already', async () => {
  const ids = await someRoutes('1111111', '1111111', '*');
  const { body } = await order({ ids });
  expect(body).toMatchObject({ message: 'The routes are in this order already.', data: { version: 3 } });
  expect((await api.routes.list()).map(({ priority }) => priority)).toEqual([0, 0, 0]);
});

it('refuses an order that priorities cannot make', async () => {
  const [one = '', any = ''] = await someRoutes('1111111', '*');
  const unknown = '00000000-0000-4000-8000-000000000000';
  const errors = [];
  for (const ids of [[any, one], [one, one], [unknown], [], ['x']]) {
    const { status, body } = await order({ ids });
    expect(status).toBe(400);
    errors.push(body.details[0].field);
  }
  expect(errors).toEqual(['ids.1', 'ids.1', 'ids.0', 'ids', 'ids.0']);
  const outdated = await order({ ids: [any], expectedVersion: 1 });
  expect([outdated.status, outdated.body.code]).toEqual([409, 'ROUTES_CHANGED']);
});

it('refuses keys for some routes only', async () => {
  const ids = await someRoutes('1111111');
  const headers = { 'x-api-key': await api.addKey({ scopes: ['routes:write'], routes: ids }) };
  const refused = await api.call('PUT', '/api/routes/order', { ids }, headers);
  expect([refused.status, refused.body.code]).toEqual([403, 'ROUTE_NOT_ALLOWED']);
});
