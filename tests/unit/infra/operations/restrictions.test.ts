import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aDeadLetter } from '../../../doubles/fake-message-log.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { aRoute } from '../../../support/routes.ts';

const OWN = '5493777239922';
const OTHER = '15550001111';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: 'a-key-of-32-characters-for-tests' });
});
afterEach(() => api.close());

/** Calls with a key that is restricted to chats or routes. */
async function restricted(restriction: { chats?: string[]; routes?: string[] }) {
  const scopes = ['routes:write', 'messages:read', 'messages:send'] as const;
  const key = await api.addKey({ scopes: [...scopes], ...restriction });
  return (method: string, path: string, body?: unknown) => api.call(method, path, body, { 'x-api-key': key });
}

const routeBody = (channelId: string) => ({
  channelId,
  agentEndpoint: 'http://localhost:8000',
  config: { adk: { appName: 'a' } },
});

describe('a key for one chat', () => {
  it('sends to it, by any address of the person, and to no other chat', async () => {
    const call = await restricted({ chats: [OWN] });
    api.aliases.set('7@lid', [OWN]);
    expect((await call('POST', '/api/messages', { channelId: `+${OWN}`, text: 'a' })).status).toBe(202);
    expect((await call('POST', '/api/messages', { channelId: '7@lid', text: 'b' })).status).toBe(202);
    const refused = await call('POST', '/api/messages', { channelId: OTHER, text: 'c' });
    expect([refused.status, refused.body.code]).toEqual([403, 'CHAT_NOT_ALLOWED']);
    expect(api.sent.map(({ text }) => text)).toEqual(['a', 'b']);
  });

  it('reads, replays and closes dead letters of that chat only', async () => {
    api.messageLog.deadRows = [
      aDeadLetter({ id: '4', channelId: OWN }),
      aDeadLetter({ id: '5', channelId: OTHER }),
    ];
    const call = await restricted({ chats: [OWN] });
    const { body } = await call('GET', '/api/dead-letters');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(['4']);
    expect((await call('GET', '/api/dead-letters/4')).status).toBe(200);
    for (const [method, path] of [
      ['GET', `/api/dead-letters?channelId=${OTHER}`],
      ['GET', '/api/dead-letters/5'],
      ['POST', '/api/dead-letters/5/replay'],
      ['POST', '/api/dead-letters/5/close'],
    ] as const) {
      const refused = await call(method, path);
      expect([path, refused.body.code]).toEqual([path, 'CHAT_NOT_ALLOWED']);
      expect(refused.text).not.toContain('hola');
    }
  });

  it('replays by a filter that names the chat only', async () => {
    const call = await restricted({ chats: [OWN] });
    const path = '/api/dead-letters/replay';
    expect((await call('POST', path, { channelId: OWN })).status).toBe(202);
    expect((await call('POST', path, { channelId: OTHER })).status).toBe(403);
    const all = await call('POST', path, {});
    expect(all.body.error).toBe('The key may use some chats only: name one as channelId.');
  });

  it('has routes for that chat only: not for another one, and not for all', async () => {
    const other = await api.routes.create(aRoute({ channelId: OTHER }));
    await api.routes.create(aRoute({ channelId: '*' }));
    const call = await restricted({ chats: [OWN] });
    const { body } = await call('POST', '/api/routes', routeBody(OWN));
    for (const channelId of [OTHER, '*']) {
      expect((await call('POST', '/api/routes', routeBody(channelId))).body.code).toBe('CHAT_NOT_ALLOWED');
      expect((await call('PATCH', `/api/routes/${body.data.id}`, { channelId })).status).toBe(403);
      expect((await call('GET', `/api/routes/${channelId}`)).status).toBe(403);
    }
    expect((await call('GET', '/api/routes')).body.data).toMatchObject([
      { id: body.data.id, channelId: OWN },
    ]);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const change = method === 'PATCH' ? { priority: 9 } : undefined;
      expect((await call(method, `/api/routes/${other.id}`, change)).status).toBe(403);
    }
    expect((await call('PATCH', `/api/routes/${OWN}`, { priority: 2 })).body.data.priority).toBe(2);
    expect(await api.routes.get(other.id)).toEqual(other);
  });

  it('explains routes of that chat only', async () => {
    const call = await restricted({ chats: [OWN] });
    expect((await call('POST', '/api/routes/explain', { from: OWN, text: 'a' })).status).toBe(200);
    expect((await call('POST', '/api/routes/explain', { from: OTHER, text: 'a' })).status).toBe(403);
    const channelId = OTHER;
    expect((await call('POST', '/api/routes/explain', { channelId, from: OWN, text: 'a' })).status).toBe(403);
  });
});

describe('the agent of another route', () => {
  const withFallback = (fallbackRouteId: string) => ({ config: { failure: { fallbackRouteId } } });

  it('is no fallback for a key of one chat', async () => {
    const other = await api.routes.create({ ...aRoute({ channelId: OTHER }) });
    const call = await restricted({ chats: [OWN] });
    const own = (await call('POST', '/api/routes', routeBody(OWN))).body.data;
    const second = (await call('POST', '/api/routes', routeBody(OWN))).body.data;
    const refused = await call('PATCH', `/api/routes/${own.id}`, withFallback(other.id));
    expect(refused.body.code).toBe('CHAT_NOT_ALLOWED');
    const body = { ...routeBody(OWN), config: { adk: { appName: 'a' }, ...withFallback(other.id).config } };
    expect((await call('POST', '/api/routes', body)).status).toBe(403);
    expect((await call('PATCH', `/api/routes/${own.id}`, withFallback(second.id))).status).toBe(200);
  });

  it('is no new fallback for a key of one route, and one that an admin chose stays', async () => {
    const fallback = await api.routes.create(aRoute({ channelId: OWN }));
    const other = await api.routes.create(aRoute({ channelId: OWN }));
    const { config } = aRoute();
    const failure = { fallbackRouteId: fallback.id };
    const own = await api.routes.create(aRoute({ channelId: OWN, config: { ...config, failure } }));
    const call = await restricted({ routes: [own.id] });
    const path = `/api/routes/${own.id}`;
    expect((await call('PATCH', path, withFallback(other.id))).body.code).toBe('ROUTE_NOT_ALLOWED');
    expect((await call('PATCH', path, { config: { shared: true } })).status).toBe(200);
    expect((await api.routes.get(own.id))?.config.failure?.fallbackRouteId).toBe(fallback.id);
  });
});

describe('a key for one route', () => {
  it('reads and changes that route, and no other one of the same chat', async () => {
    const own = await api.routes.create(aRoute({ channelId: OWN }));
    const other = await api.routes.create(aRoute({ channelId: OWN }));
    const call = await restricted({ routes: [own.id] });
    expect((await call('GET', '/api/routes')).body.data).toMatchObject([{ id: own.id }]);
    expect((await call('GET', `/api/chats?routeId=${own.id}`)).status).toBe(200);
    expect((await call('GET', `/api/chats?routeId=${other.id}`)).body.code).toBe('ROUTE_NOT_ALLOWED');
    // The other route of the chat does not make the name ambiguous.
    expect((await call('PATCH', `/api/routes/${OWN}`, { priority: 7 })).body.data.id).toBe(own.id);
    for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? routeBody(OWN) : method === 'PATCH' ? { priority: 9 } : undefined;
      const refused = await call(method, `/api/routes/${other.id}`, body);
      expect([method, refused.body.code]).toEqual([method, 'ROUTE_NOT_ALLOWED']);
    }
    expect(await api.routes.get(other.id)).toEqual(other);
  });

  it('cannot add a route, move it to another chat, or have routes explained', async () => {
    const own = await api.routes.create(aRoute({ channelId: OWN }));
    const call = await restricted({ routes: [own.id] });
    for (const refused of [
      await call('POST', '/api/routes', routeBody(OWN)),
      await call('PATCH', `/api/routes/${own.id}`, { channelId: '*' }),
      await call('PUT', `/api/routes/${own.id}`, routeBody('*')),
      await call('POST', '/api/routes/explain', { from: OWN, text: 'a' }),
    ]) {
      expect(refused.body.code).toBe('ROUTE_NOT_ALLOWED');
    }
    expect((await api.routes.get(own.id))?.channelId).toBe(OWN);
    expect((await call('DELETE', `/api/routes/${own.id}`)).status).toBe(200);
  });
});

describe('a key that may only read accounts', () => {
  it('sees no QR code and no pairing code', async () => {
    api.accounts.set({ state: 'pairing', qr: 'SECRET-QR', pairingCode: 'ABCD1234' });
    const reader = { 'x-api-key': await api.addKey({ scopes: ['accounts:read'] }) };
    const manager = { 'x-api-key': await api.addKey({ scopes: ['accounts:manage'] }) };
    for (const path of ['/api/accounts', '/api/accounts/default']) {
      const { text } = await api.call('GET', path, undefined, reader);
      expect(text).toContain('pairing');
      expect(text).not.toMatch(/SECRET-QR|ABCD1234/);
      expect((await api.call('GET', path, undefined, manager)).text).toMatch(/SECRET-QR.*ABCD1234/);
    }
    for (const path of ['/qr/status', '/qr/image']) {
      expect((await api.call('GET', path, undefined, reader)).body.code).toBe('SCOPE_MISSING');
    }
    const page = await api.call('GET', '/qr', undefined, reader);
    expect([page.status, page.text.includes('SECRET-QR')]).toEqual([401, false]);
  });
});
