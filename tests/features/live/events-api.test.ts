import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_STREAMS } from '../../../router/src/features/live/feature.ts';
import { keyIdIn } from '../../../router/src/infra/operations/access.ts';
import { EventClient } from '../../support/event-client.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../support/http-api.ts';

let api: HttpApi;
const opened: EventClient[] = [];

beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});

afterEach(async () => {
  for (const client of opened.splice(0)) client.close();
  await api.close();
});

async function open(key: string, query = '', headers: Record<string, string> = {}): Promise<EventClient> {
  const client = await EventClient.open(api.url, query, { 'x-api-key': key, ...headers });
  opened.push(client);
  return client;
}

/** Makes events that were reported go out. */
const send = () => api.live.clock.advanceMs(50);

describe('GET /api/events', () => {
  it('streams what stores report, with ids and small facts', async () => {
    const client = await open(ADMIN_KEY);
    expect(client.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect((await client.next())?.event).toBe('ready');
    api.live.changes.report({ type: 'message', accountId: 'default', chatId: '7', id: '1', kind: 'text' });
    await send();
    expect(await client.next()).toMatchObject({
      event: 'message',
      data: { type: 'message', at: '2026-01-01T00:00:00.000Z', accountId: 'default', chatId: '7', id: '1' },
    });
  });

  it('continues after Last-Event-ID, as header or in the query', async () => {
    const first = await open(ADMIN_KEY);
    await first.next();
    for (const id of ['1', '2', '3']) api.live.changes.report({ type: 'message', id });
    await send();
    const { id = '' } = (await first.next()) ?? {};
    first.close();
    for (const again of [
      await open(ADMIN_KEY, '', { 'last-event-id': id }),
      await open(ADMIN_KEY, `?lastEventId=${id}`),
    ]) {
      expect((await again.next())?.event).toBe('ready');
      expect([(await again.next())?.data.id, (await again.next())?.data.id]).toEqual(['2', '3']);
    }
    const other = await open(ADMIN_KEY, '?lastEventId=gone-7');
    expect((await other.next())?.event).toBe('reset');
  });

  it('sends the wanted types, and the events of one account', async () => {
    const client = await open(ADMIN_KEY, '?types=message,route&accountId=mine');
    expect((await client.next())?.event).toBe('ready');
    api.live.changes.report({ type: 'turn', id: '1', accountId: 'mine' });
    api.live.changes.report({ type: 'message', id: '2', accountId: 'other' });
    api.live.changes.report({ type: 'message', id: '3', accountId: 'mine' });
    api.live.changes.report({ type: 'route' });
    await send();
    expect([(await client.next())?.data.id, (await client.next())?.event]).toEqual(['3', 'route']);
    expect((await api.call('GET', '/api/events?types=nonsense', undefined, auth())).status).toBe(400);
  });

  it('shows a key the events of its scopes and chats only', async () => {
    const routes = await open(await api.addKey({ scopes: ['routes:read'] }));
    const chats = await open(await api.addKey({ scopes: ['messages:read'], chats: ['5491100000001'] }));
    await Promise.all([routes.next(), chats.next()]);
    api.app.chatStore.get = async (id) =>
      ({ id, accountId: 'default', channelId: id === '7' ? '5491100000001' : '5491100000002' }) as never;
    for (const chatId of ['8', '7']) api.live.changes.report({ type: 'message', chatId, id: chatId });
    api.live.changes.report({ type: 'route' });
    await send();
    expect((await routes.next())?.event).toBe('route');
    expect((await chats.next())?.data.id).toBe('7');
  });

  it('ends the stream of a key that is revoked', async () => {
    const key = await api.addKey({ scopes: ['messages:read'] });
    const client = await open(key);
    await client.next();
    await api.keys.delete(keyIdIn(key) ?? '');
    await api.npc.keyWatch.check();
    expect(await client.next()).toBeUndefined();
  });

  it('refuses callers without a key, and more streams than a caller may have', async () => {
    expect((await api.call('GET', '/api/events')).status).toBe(401);
    const key = await api.addKey({ scopes: ['messages:read'] });
    const streams = await Promise.all(Array.from({ length: MAX_STREAMS }, () => open(key)));
    const refused = await api.call('GET', '/api/events', undefined, { 'x-api-key': key });
    expect([refused.status, refused.body.code]).toEqual([429, 'TOO_MANY_STREAMS']);
    expect((await open(ADMIN_KEY)).response.status).toBe(200);
    streams[0]?.close();
    await expect.poll(async () => (await open(key)).response.status).toBe(200);
  });
});

function auth() {
  return { 'x-api-key': ADMIN_KEY };
}
