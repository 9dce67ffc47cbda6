import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { rawRequest } from '../../../support/raw-request.ts';

const admin = { 'x-api-key': ADMIN_KEY };
const SECRET_TEXT = 'the words of a person';
const routeBody = {
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  config: { adk: { appName: 'a', headers: { Authorization: 's3cret' } } },
};

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterEach(() => api.close());

/** The entries, after those that wait are stored. */
async function entries() {
  await api.recorder.stop();
  return api.auditLog.stored;
}

describe('the audit log of the REST API', () => {
  it('has a change with everything but its body, stored before the response', async () => {
    const { body, headers } = await api.call('POST', '/api/routes', routeBody, admin);
    expect(api.auditLog.stored).toEqual([
      {
        seq: 1n,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        at: new Date(api.clock.nowMs),
        face: 'rest',
        caller: 'admin-key',
        action: 'createRoute',
        object: body.data.id,
        outcome: 'ok',
        requestId: headers.get('x-request-id'),
        address: '127.0.0.1',
      },
    ]);
  });

  it.each([
    ['sendMessage', 'POST', '/api/messages', { channelId: '5493777239922', text: SECRET_TEXT }],
    ['createKey', 'POST', '/api/keys', { name: 'k', scopes: ['tasks'] }],
    ['createAccount', 'POST', '/api/accounts', { id: 'sales' }],
  ])('has %s with the id of what it made, and no text', async (action, method, path, body) => {
    const answer = await api.call(method, path, body, admin);
    const { id, accountId } = answer.body.data;
    const [entry] = await entries();
    expect(entry).toMatchObject({ action, object: id ?? accountId, outcome: 'ok' });
    expect(Object.values(entry ?? {}).join(' ')).not.toContain(SECRET_TEXT);
  });

  it('has the id of the key, and the code of a refusal with the object of the path', async () => {
    const key = await api.addKey({ scopes: ['tasks'] });
    const [stored] = await api.keys.all();
    await api.call('DELETE', '/api/accounts/default', undefined, { 'x-api-key': key });
    await api.call('POST', '/api/routes', '{', admin);
    await api.call('DELETE', '/api/routes/15550001111', undefined, admin);
    expect(await entries()).toMatchObject([
      {
        caller: 'key',
        keyId: stored?.id,
        action: 'deleteAccount',
        object: 'default',
        outcome: 'SCOPE_MISSING',
      },
      { caller: 'admin-key', action: 'createRoute', outcome: 'INVALID_JSON' },
      { action: 'deleteRoute', object: '15550001111', outcome: 'NOT_FOUND' },
    ]);
  });

  it('has reads with a key, with the chat that a list was filtered by', async () => {
    await api.call('GET', '/api/messages?channelId=5493777239922', undefined, admin);
    await api.call('GET', '/api/routes', undefined, {
      'x-api-key': await api.addKey({ scopes: ['routes:read'] }),
    });
    await api.call('GET', '/api/messages/9', undefined, admin);
    expect(await entries()).toMatchObject([
      { action: 'listMessages', object: '5493777239922', outcome: 'ok' },
      { action: 'listRoutes', caller: 'key', outcome: 'ok' },
      { action: 'getMessage', object: '9', outcome: 'NOT_FOUND' },
    ]);
  });

  it('has no public calls, no polled reads that succeed, and nothing for paths that do not exist', async () => {
    for (const path of [
      '/health',
      '/health/ready',
      '/openapi.json',
      '/',
      '/qr',
      '/metrics',
      '/qr/status',
      '/nowhere',
    ]) {
      await api.call('GET', path, undefined, admin);
    }
    await api.call('PUT', '/api/messages', undefined, admin);
    expect(await entries()).toEqual([]);
  });

  it('has what a browser takes away or may not read, and not the lists that its pages show', async () => {
    const operator = await api.openSession('operator');
    const viewer = await api.openSession('viewer');
    const audited = api.endpoints.filter(({ isAudited }) => isAudited);
    for (const { path } of audited) {
      await api.call('GET', path.replaceAll(/\{\w+\}/g, '7'), undefined, operator);
    }
    await api.call('GET', '/api/messages', undefined, viewer);
    await api.call('GET', '/api/playground/chats', undefined, viewer);
    const found = await entries();
    expect(found.slice(0, -1).map(({ action, user }) => [action, user])).toEqual(
      audited.map(({ operationId }) => [operationId, 'operator-0']),
    );
    expect(found.at(-1)).toMatchObject({ action: 'listPlaygroundChats', outcome: 'SCOPE_MISSING' });
    const exports = ['exportChat', 'exportRoutes', 'getMessageFile', 'listExchanges', 'getChatPolicy'];
    expect(audited.map(({ operationId }) => operationId)).toEqual(expect.arrayContaining(exports));
  });

  it('has a polled read that is refused', async () => {
    const headers = { 'x-api-key': await api.addKey({ scopes: ['tasks'] }) };
    await api.call('GET', '/metrics', undefined, headers);
    expect(await entries()).toMatchObject([{ action: 'getMetrics', outcome: 'SCOPE_MISSING' }]);
  });

  it('has the changes of a browser, and not the reads of its pages', async () => {
    const headers = await api.openSession('operator');
    await api.call('GET', '/api/routes', undefined, headers);
    await api.call('GET', '/api/messages/9', undefined, headers);
    await api.call('POST', '/api/accounts/default/restart', {}, headers);
    expect(await entries()).toMatchObject([
      { caller: 'session', user: 'operator-0', action: 'restartAccount', object: 'default' },
    ]);
  });

  it('has logins, right and wrong ones', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    await api.call('POST', '/login', 'key=wrong', form);
    await api.call('POST', '/login', `key=${ADMIN_KEY}`, form);
    expect(await entries()).toMatchObject([
      { caller: 'stranger', action: 'login', outcome: 'UNAUTHORIZED' },
      { caller: 'session', action: 'login', outcome: 'ok' },
    ]);
  });

  it('has repeated refusals 1, 2, 4 and 8, so that a stranger cannot fill it', async () => {
    for (let n = 0; n < 15; n++) await api.call('GET', '/api/routes', undefined, { 'x-api-key': 'wrong' });
    const found = await entries();
    expect(found).toHaveLength(4);
    expect(found[0]).toMatchObject({ caller: 'stranger', action: 'listRoutes', outcome: 'UNAUTHORIZED' });
  });

  it('has late replies without their tokens, and unknown tokens 1, 2, 4 and 8 times', async () => {
    const token = 'T'.repeat(43);
    for (let n = 0; n < 15; n++) await api.call('POST', `/api/replies/${token}`, { text: SECRET_TEXT });
    const found = await entries();
    expect(found).toHaveLength(4);
    expect(found[0]).toMatchObject({ action: 'replyLater', outcome: 'REPLY_TOKEN_UNKNOWN' });
    expect(Object.values(found[0] ?? {}).join(' ')).not.toMatch(/TTT|words/);
  });

  it('has a key over its limit 1, 2, 4 and 8 times', async () => {
    const limits = { perMinute: 1, perSecond: 100 };
    const headers = { 'x-api-key': await api.addKey({ scopes: ['routes:read'], limits }) };
    for (let n = 0; n < 16; n++) await api.call('GET', '/api/routes', undefined, headers);
    const outcomes = (await entries()).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['ok', ...Array.from({ length: 4 }, () => 'RATE_LIMITED')]);
  });

  it('names the request as the caller named it, if the name is usable', async () => {
    const named = { ...admin, 'x-request-id': 'order-4711:1' };
    const { headers } = await api.call('GET', '/api/routes', undefined, named);
    expect(headers.get('x-request-id')).toBe('order-4711:1');
    const hostile = { ...admin, 'x-request-id': 'a b' };
    const answer = await api.call('GET', '/api/routes', undefined, hostile);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await entries()).map(({ requestId }) => requestId)).toEqual([
      'order-4711:1',
      answer.headers.get('x-request-id'),
    ]);
  });

  it('has a foreign page that calls this machine', async () => {
    await api.close();
    api = await startHttpApi();
    await rawRequest(`${api.url}/api/routes`, { headers: { host: 'evil.example' } });
    await api.call('GET', '/api/routes');
    await api.call('DELETE', '/api/routes/1');
    expect(await entries()).toMatchObject([
      { caller: 'loopback', action: 'listRoutes', outcome: 'FOREIGN_HOST' },
      { caller: 'loopback', action: 'deleteRoute', object: '1', outcome: 'NOT_FOUND' },
    ]);
  });
});
