import { expect, it } from 'vitest';
import { CHAT_IMAGE } from '../../support/hosted-agents.ts';
import { httpApi } from '../../support/http-api.ts';
import { aRoute } from '../../support/routes.ts';

const api = httpApi();

it.each([
  ['a2a', 'wa2ai as an A2A agent'],
  ['mcp', 'wa2ai as an MCP server'],
])('shows and stores whether the face %s is on', async (face, what) => {
  const path = `/api/settings/${face}`;
  expect((await api.call('GET', path)).body.data).toEqual({ enabled: true });
  const off = await api.call('PUT', path, { enabled: false });
  expect(off.status).toBe(200);
  expect(off.body).toEqual({
    success: true,
    message: `${what} is off`,
    data: { enabled: false },
  });
  expect((await api.call('GET', path)).body.data).toEqual({ enabled: false });
  for (const body of [{}, { enabled: 'yes' }, { enabled: true, other: 1 }]) {
    expect((await api.call('PUT', path, body)).status).toBe(400);
  }
});

it('names the route of the agents that the MCP server may create, if it is one of hosted agents', async () => {
  const config = { agent: { kind: 'hosted', settings: { image: CHAT_IMAGE } } };
  const hosted = await api.routes.create(aRoute({ agentEndpoint: '', config }));
  const other = await api.routes.create(aRoute());
  const settings = { enabled: true, agentRouteId: hosted.id };
  expect((await api.call('PUT', '/api/settings/mcp', settings)).status).toBe(200);
  expect((await api.call('GET', '/api/settings/mcp')).body.data).toEqual(settings);
  for (const agentRouteId of [other.id, 'none']) {
    const refused = await api.call('PUT', '/api/settings/mcp', { enabled: true, agentRouteId });
    expect([refused.status, refused.body.error]).toEqual([
      400,
      'agentRouteId must be a route with config.hosted.',
    ]);
  }
});

it('lists the settings of the node for admins only', async () => {
  const { status, body } = await api.call('GET', '/api/settings');
  expect([status, body.count]).toEqual([200, api.app.config.settings.length]);
  expect(body.data).toContainEqual(
    expect.objectContaining({ name: 'WA2AI_PORT', default: '3000', origin: 'default', isChangeable: false }),
  );
  const key = await api.addKey({ scopes: ['routes:write', 'accounts:manage'] });
  const refused = await api.call('GET', '/api/settings', undefined, { 'x-api-key': key });
  expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_MISSING']);
});

it('shows and stores what the service changes without a restart', async () => {
  const path = '/api/settings/service';
  const retention = { textDays: 90, fileDays: 30, recordDays: 365 };
  const inUse = {
    ...{ agentTimeoutMs: 30_000, maxMessageAgeMs: 86_400_000, exchanges: 'on', logLevel: 'info', retention },
  };
  expect((await api.call('GET', path)).body.data).toEqual({ stored: {}, inUse });
  const body = { agentTimeoutMs: 60_000, retention: { textDays: 0 } };
  const { status, body: answer } = await api.call('PUT', path, body);
  expect(status).toBe(200);
  const changed = { ...inUse, agentTimeoutMs: 60_000, retention: { ...retention, textDays: 0 } };
  expect(answer.data).toEqual({ stored: body, inUse: changed });
  expect((await api.call('GET', path)).body.data).toEqual(answer.data);
  for (const wrong of [{ agentTimeoutMs: 1 }, { logLevel: 'loud' }, { retention: { textDays: 4_000 } }]) {
    expect((await api.call('PUT', path, wrong)).status).toBe(400);
  }
  const { data } = (await api.call('GET', '/api/settings')).body;
  const changeable = (data as Array<{ name: string; isChangeable: boolean }>).filter(
    (each) => each.isChangeable,
  );
  expect(changeable.map(({ name }) => name)).toEqual([
    'WA2AI_MAX_MESSAGE_AGE',
    'WA2AI_AGENT_TIMEOUT',
    'WA2AI_EXCHANGES',
    'WA2AI_RETENTION_TEXTS',
    'WA2AI_RETENTION_FILES',
    'WA2AI_RETENTION_RECORDS',
    'WA2AI_LOG_LEVEL',
  ]);
  const inForce = (data as Array<{ name: string; value?: string; origin: string }>).flatMap((each) =>
    each.origin === 'stored' ? [[each.name, each.value]] : [],
  );
  expect(inForce).toEqual([
    ['WA2AI_AGENT_TIMEOUT', '1m'],
    ['WA2AI_RETENTION_TEXTS', '0'],
  ]);
  await api.call('PUT', path, {});
});
