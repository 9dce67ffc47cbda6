import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

it('lists accounts with their named state, next action and times', async () => {
  api.accounts.set({
    state: 'waiting',
    nextAction: 'Nothing to do; it reconnects by itself.',
    reason: 'The connection dropped.',
    sinceMs: 1_000,
    retryAtMs: 61_000,
  });
  const { status, body } = await api.call('GET', '/api/accounts');
  expect(status).toBe(200);
  expect(body).toEqual({
    success: true,
    count: 1,
    data: [
      {
        id: 'default',
        accountId: 'default',
        state: 'waiting',
        nextAction: 'Nothing to do; it reconnects by itself.',
        reason: 'The connection dropped.',
        since: '1970-01-01T00:00:01.000Z',
        retryAt: '1970-01-01T00:01:01.000Z',
      },
    ],
  });
});

it('shows one account', async () => {
  api.accounts.set({ accountId: 'sales', phone: '5493777239922' });
  const { body } = await api.call('GET', '/api/accounts/sales');
  expect(body.data).toMatchObject({
    id: 'sales',
    phone: '5493777239922',
    outgoing: {
      queued: 1,
      delayed: [{ why: 'It is a first contact.', messages: 2, until: '2026-01-31T12:00:00.000Z' }],
    },
  });
});

it('shows an account while the database does not answer, without what waits', async () => {
  api.messageLog.failure = new StorageUnavailableError({ sentence: 'no answer' });
  const { status, body } = await api.call('GET', '/api/accounts/default');
  expect(status).toBe(200);
  expect(body.data).not.toHaveProperty('outgoing');
});

it.each<[unknown, unknown]>([
  [{ method: 'qr' }, { method: 'qr' }],
  [{}, { method: 'qr' }],
  [undefined, { method: 'qr' }],
  [
    { method: 'code', phone: '+54 9 3777 23-9922' },
    { method: 'code', phone: '5493777239922' },
  ],
])('pairs with the body %j', async (body, asked) => {
  api.accounts.set({ state: 'pairing', pairingCode: 'ABCD1234', expiresAtMs: 60_000 });
  const answer = await api.call('POST', '/api/accounts/default/pair', body);
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    success: true,
    message: 'Pairing started.',
    data: { pairingCode: 'ABCD1234', expiresAt: '1970-01-01T00:01:00.000Z' },
  });
  expect(api.accounts.calls).toEqual([['pair', 'default', asked]]);
});

it('does not pair an account that is linked', async () => {
  const answer = await api.call('POST', '/api/accounts/default/pair', {});
  expect(answer.status).toBe(409);
  expect(answer.body.code).toBe('ALREADY_LINKED');
  expect(api.accounts.calls).toEqual([]);
});

it.each(['logout', 'restart'])('passes on %s and returns the new state', async (action) => {
  const answer = await api.call('POST', `/api/accounts/default/${action}`);
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ success: true, data: { id: 'default' } });
  expect(api.accounts.calls).toEqual([[action, 'default']]);
});

it('deletes an account', async () => {
  api.accounts.set({ accountId: 'sales', state: 'pairing' });
  const answer = await api.call('DELETE', '/api/accounts/sales');
  expect(answer.status).toBe(202);
  expect(answer.body).toMatchObject({
    success: true,
    message: 'The account is being deleted.',
    data: { id: 'sales', state: 'pairing' },
  });
  expect(api.accounts.calls).toEqual([['delete', 'sales']]);
  expect((await api.call('DELETE', '/api/accounts/sales')).status).toBe(404);
});

it('lists accounts page by page on request', async () => {
  api.accounts.set({ accountId: 'sales' });
  const first = (await api.call('GET', '/api/accounts?limit=1')).body;
  expect(first).toMatchObject({ count: 1, data: [{ id: 'default' }], next: 'default' });
  const second = (await api.call('GET', `/api/accounts?limit=1&cursor=${first.next}`)).body;
  expect(second).toMatchObject({ count: 1, data: [{ id: 'sales' }] });
  expect(second).not.toHaveProperty('next');
});

it.each<[unknown, number, string | undefined]>([
  [{ id: 'sales' }, 201, undefined],
  [{ accountId: 'sales' }, 201, undefined],
  [{}, 400, 'id is missing.'],
  [{ id: 'a', accountId: 'b' }, 400, 'accountId is not a known field.'],
  [{ id: 'default' }, 409, 'There is a WhatsApp account with this id.'],
])('adds an account: %j', async (body, status, error) => {
  const answer = await api.call('POST', '/api/accounts', body);
  expect(answer.status).toBe(status);
  expect(answer.body.error).toBe(error);
  const isOld = status === 201 && !('id' in (body as object));
  expect(answer.body.warnings).toEqual(
    isOld ? [expect.objectContaining({ code: 'OLD_NAME', field: 'accountId' })] : undefined,
  );
});

it.each([
  ['GET', '/api/accounts/other'],
  ['DELETE', '/api/accounts/other'],
  ['POST', '/api/accounts/other/pair'],
  ['POST', '/api/accounts/other/logout'],
  ['POST', '/api/accounts/__proto__/restart'],
])('returns 404 for an unknown account: %s %s', async (method, path) => {
  const answer = await api.call(method, path);
  expect(answer.status).toBe(404);
  expect(answer.body).toEqual({
    success: false,
    error: 'There is no WhatsApp account with this id.',
    phrase: { code: 'problem.no-account' },
    code: 'NOT_FOUND',
    docs: `${'../'.repeat(path.split('/').length - 2)}docs/troubleshooting.md#not_found`,
  });
});

describe('the proxy of an account', () => {
  const url = 'socks5://router:a-password@proxy.example:1080';
  const put = (proxy: unknown) => api.call('PUT', '/api/accounts/default', { proxy });

  it('is stored, and the account connects again', async () => {
    api.accounts.set({ proxy: 'socks5://***@proxy.example:1080' });
    const answer = await put({ url });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      message: 'Proxy stored.',
      data: { proxy: { url: 'socks5://***@proxy.example:1080' } },
    });
    expect([...api.proxyUrls]).toEqual([['default', url]]);
    expect(api.accounts.calls).toEqual([['restart', 'default']]);
    expect((await put(null)).body.message).toBe('Proxy removed.');
    expect(api.proxyUrls.size).toBe(0);
  });

  it('keeps its password when the masked address is sent, and needs it for another address', async () => {
    await put({ url });
    expect((await put({ url: 'socks5://***@proxy.example:1080' })).status).toBe(200);
    expect(api.proxyUrls.get('default')).toBe(url);
    const moved = await put({ url: 'socks5://***@other.example:1080' });
    expect(moved.body.error).toBe(
      'proxy.url must have its user name and password; none are stored for this address.',
    );
    expect(api.proxyUrls.get('default')).toBe(url);
  });

  it('is refused without quoting it when it is not the URL of a proxy', async () => {
    const { status, text } = await api.call('PUT', '/api/accounts/default', {
      proxy: { url: 'ftp://router:a-password@proxy.example' },
    });
    expect(status).toBe(400);
    expect(text).toContain('proxy.url must begin with http://, https:// or socks5://.');
    expect(text).not.toContain('a-password');
    expect(api.accounts.calls).toEqual([]);
  });

  it('is that of a new account from the beginning, with the same rules', async () => {
    const add = (proxy: unknown) => api.call('POST', '/api/accounts', { id: 'sales', proxy });
    for (const [wrong, error] of [
      ['ftp://router:a-password@proxy.example', 'must begin with http://, https:// or socks5://.'],
      ['http://***@proxy.example', 'must have its user name and password; none are stored for this address.'],
    ]) {
      const { status, body, text } = await add({ url: wrong });
      expect([status, body.error]).toEqual([400, `proxy.url ${error}`]);
      expect(text).not.toContain('a-password');
    }
    expect(api.accounts.calls).toEqual([]);
    expect((await add({ url })).status).toBe(201);
    expect(api.accounts.calls).toEqual([['create', 'sales', { proxyUrl: url }]]);
    expect(JSON.stringify(await api.call('GET', '/api/audit'))).not.toMatch(/a-password|router:/);
  });

  it('is shown to callers who may change it only', async () => {
    api.accounts.set({ proxy: 'socks5://***@proxy.example:1080' });
    for (const path of ['/api/accounts', '/api/accounts/default', '/health', '/api/nodes']) {
      const seenBy = async (scope: 'accounts:read' | 'accounts:manage') => {
        const headers = { 'x-api-key': await api.addKey({ scopes: [scope] }) };
        return (await api.call('GET', path, undefined, headers)).text.includes('proxy');
      };
      expect(await seenBy('accounts:read'), path).toBe(false);
      expect(await seenBy('accounts:manage'), path).toBe(path.startsWith('/api/accounts'));
    }
  });

  it('cannot be set for the playground, nor for an account that does not exist', async () => {
    api.accounts.set({ accountId: 'playground', provider: 'playground' });
    const answer = await api.call('PUT', '/api/accounts/playground', { proxy: { url } });
    expect(answer.body.details).toMatchObject([{ field: 'proxy' }]);
    expect((await api.call('PUT', '/api/accounts/nobody', { proxy: { url } })).status).toBe(404);
    expect(api.proxyUrls.size).toBe(0);
  });
});
