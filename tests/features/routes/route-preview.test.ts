import { describe, expect, it } from 'vitest';
import type { StoredMessageToRoute } from '../../../router/src/core/routing/when.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: 'admin-key-of-the-service' });

const ADMIN = { 'x-api-key': 'admin-key-of-the-service' };
const ROUTE = { channelId: '*', agentEndpoint: 'http://localhost:8000', config: { adk: { appName: 'a' } } };

const preview = (body: object, headers: Record<string, string> = ADMIN) =>
  api.call('POST', '/api/routes/preview', body, headers);

async function added(change: object = {}): Promise<{ id: string }> {
  // Routes of equal priority are checked in the order in which they were made.
  api.clock.nowMs += 1;
  const { status, body } = await api.call('POST', '/api/routes', { ...ROUTE, ...change }, ADMIN);
  expect(status).toBe(201);
  return body.data;
}

function received(text: string, fields: Partial<StoredMessageToRoute> = {}): void {
  api.messageLog.toRoute.unshift({
    messageId: String(api.messageLog.toRoute.length + 1),
    chatId: '3',
    accountId: 'default',
    channelIds: ['5493777239922'],
    message: { text },
    receivedAtMs: Date.parse('2026-01-02T03:00:00Z'),
    ...fields,
  });
}

describe('POST /api/routes/preview', () => {
  it('shows what a changed route would have done to the last messages, and stores nothing', async () => {
    const { id } = await added({ name: 'support' });
    for (const text of ['help me', 'hello', `help ${'x'.repeat(200)}`]) received(text);
    const { status, body } = await preview({ change: { id, patch: { regexFilter: '^help' } } });
    expect(status).toBe(200);
    const route = { routeId: id, name: 'support' };
    expect(body.data).toEqual({
      checked: 3,
      isComplete: true,
      changed: 1,
      groups: [
        { before: route, after: route, messages: 2 },
        { before: route, after: { reason: 'no-match' }, messages: 1 },
      ],
      messages: [
        {
          id: '2',
          chatId: '3',
          accountId: 'default',
          receivedAt: '2026-01-02T03:00:00.000Z',
          channelId: '5493777239922',
          text: 'hello',
          before: route,
          after: { reason: 'no-match' },
        },
      ],
    });
    expect(
      (await api.call('GET', `/api/routes/${id}`, undefined, ADMIN)).body.data.regexFilter,
    ).toBeUndefined();
    expect((await api.call('GET', '/api/routes/history', undefined, ADMIN)).body.data).toHaveLength(1);
  });

  it('shows a new route, a deleted one and another order', async () => {
    const [first, second] = [await added({ name: 'first' }), await added({ name: 'second' })];
    received('hello');
    const ofMessage = async (body: object) => (await preview(body)).body.data.messages[0];
    expect(await ofMessage({ create: { ...ROUTE, channelId: '5493777239922', name: 'own' } })).toMatchObject({
      before: { routeId: first.id },
      after: { isNew: true, name: 'own' },
    });
    expect(await ofMessage({ remove: first.id })).toMatchObject({ after: { routeId: second.id } });
    expect(await ofMessage({ order: [second.id, first.id] })).toMatchObject({ after: { name: 'second' } });
    expect(await ofMessage({ order: [first.id, second.id] })).toBeUndefined();
  });

  it('keeps numbers and texts from callers that may not read messages', async () => {
    const { id } = await added();
    received('hello');
    const key = await api.addKey({ scopes: ['routes:read'] });
    const { status, body } = await preview({ remove: id }, { 'x-api-key': key });
    expect(status).toBe(200);
    expect(body.data.messages).toMatchObject([{ id: '1', chatId: '3' }]);
    expect(JSON.stringify(body)).not.toMatch(/hello|5493777239922/);
  });

  it('is refused to keys without the scope and to those for some routes or chats', async () => {
    const { id } = await added();
    const keys = [
      await api.addKey({ scopes: ['messages:read'] }),
      await api.addKey({ scopes: ['routes:read'], routes: [id] }),
      await api.addKey({ scopes: ['routes:read'], chats: ['5493777239922'] }),
    ];
    const codes = [];
    for (const key of keys) codes.push((await preview({ remove: id }, { 'x-api-key': key })).body.code);
    expect(codes).toEqual(['SCOPE_MISSING', 'ROUTE_NOT_ALLOWED', 'CHAT_NOT_ALLOWED']);
  });

  it('limits the messages, and asks for those of one account', async () => {
    const { id } = await added();
    for (let n = 0; n < 5; n++) received(`n${n}`, n < 2 ? { accountId: 'sales' } : {});
    expect((await preview({ remove: id, messages: 2 })).body.data.checked).toBe(2);
    expect((await preview({ remove: id, accountId: 'sales' })).body.data.checked).toBe(2);
    expect((await preview({ remove: id, messages: 1_001 })).status).toBe(400);
  });

  it('names the fields of a change that could not be stored', async () => {
    const { id } = await added({ config: { adk: { appName: 'a', headers: { Authorization: 'secret' } } } });
    const unknown = '00000000-0000-4000-8000-000000000000';
    const fields = [];
    for (const body of [
      {},
      { remove: id, order: [id] },
      { create: { ...ROUTE, config: { adk: {} } } },
      { change: { id, patch: { config: { adk: { appName: 7 } } } } },
      { change: { id, patch: { regexFilter: '(' } } },
      { order: [unknown] },
    ]) {
      const { status, body: answer } = await preview(body);
      expect(status).toBe(400);
      fields.push(answer.details[0].field);
    }
    expect(fields).toEqual([
      '',
      '',
      'create.config.adk.appName',
      'config.adk.appName',
      'change.patch.regexFilter',
      'ids.0',
    ]);
    expect((await preview({ remove: unknown })).status).toBe(404);
    expect((await preview({ change: { id: unknown, patch: {} } })).status).toBe(404);
  });
});
