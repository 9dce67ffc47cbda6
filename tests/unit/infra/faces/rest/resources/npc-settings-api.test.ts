import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterEach(() => api.close());

const call = (method: string, body?: unknown, key = ADMIN_KEY) =>
  api.call(method, '/api/settings/npc', body, { 'x-api-key': key });

describe('/api/settings/npc', () => {
  it('shows the default, then what was stored', async () => {
    expect((await call('GET')).body.data).toEqual({
      enabled: true,
      name: 'wa2ai',
      capabilities: ['trade', 'emotion', 'memory'],
    });
    const route = await api.routes.create({
      accountId: 'default',
      channelId: '*',
      agentEndpoint: 'http://agent.test',
      environment: 'lab',
      priority: 0,
      enabled: true,
      config: {},
    });
    const settings = {
      enabled: true,
      name: 'Old Guard',
      routeId: route.id,
      url: 'https://npc.example.com/',
      custom: ['custom:crafting'],
      metadata: { game: 'rpg' },
    };
    expect((await call('PUT', settings)).status).toBe(200);
    expect((await call('GET')).body.data).toEqual({
      ...settings,
      url: 'https://npc.example.com',
      capabilities: ['social', 'trade', 'emotion', 'memory', 'custom:crafting'],
    });
  });

  it.each([
    [{ name: 'a' }, 'enabled'],
    [{ enabled: true, name: ' ' }, 'name'],
    [{ enabled: true, name: 'a', url: 'npc.example.com' }, 'url'],
    [{ enabled: true, name: 'a', custom: ['custom:a'] }, 'custom'],
    [{ enabled: true, name: 'a', routeId: '01900000-0000-7000-8000-000000000001' }, 'routeId'],
    [{ enabled: true, name: 'a', metadata: { x: 'y'.repeat(10_000) } }, 'metadata'],
  ])('refuses %o', async (body, field) => {
    const { status, body: problem } = await call('PUT', body);
    expect(status).toBe(400);
    expect(problem.details[0].field).toBe(field);
  });

  it('needs the scope admin', async () => {
    const key = await api.addKey({ scopes: ['tasks', 'agents:manage'] });
    expect((await call('GET', undefined, key)).status).toBe(403);
    expect((await call('PUT', { enabled: true, name: 'a' }, key)).status).toBe(403);
    const admin = await api.addKey({ scopes: ['admin'] });
    expect((await call('GET', undefined, admin)).status).toBe(200);
  });
});
