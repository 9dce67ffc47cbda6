import { describe, expect, it } from 'vitest';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const admin = { 'x-api-key': ADMIN_KEY };

const api = httpApi({ apiKey: ADMIN_KEY });

/** Each restriction of a key. */
const RESTRICTED = {
  chats: ['15550001111'],
  routes: ['00000000-0000-4000-8000-000000000001'],
  accounts: ['default'],
};

const create = (body: unknown, headers: Record<string, string> = admin) =>
  api.call('POST', '/api/keys', body, headers);

describe('POST /api/keys', () => {
  it('shows the key once, and a call with it works', async () => {
    const { status, body, headers } = await create({ name: 'orders', scopes: ['routes:read'] });
    expect(status).toBe(201);
    const { key, ...shown } = body.data;
    expect(key).toMatch(new RegExp(`^${shown.prefix}_[\\w-]{43}$`));
    expect(shown).toMatchObject({
      name: 'orders',
      prefix: `wa2ai_${shown.id}`,
      scopes: ['routes:read'],
      limits: { perMinute: 100, perSecond: 10 },
      createdAt: '2026-01-02T03:04:05.000Z',
    });
    expect(headers.get('location')).toBe(`../api/keys/${shown.id}`);
    expect((await api.call('GET', '/api/routes', undefined, { 'x-api-key': key })).status).toBe(200);
    for (const path of ['/api/keys', `/api/keys/${shown.id}`]) {
      const { text } = await api.call('GET', path, undefined, admin);
      expect(text).toContain(shown.id);
      expect(text).not.toContain(key.slice(-20));
      expect(text).not.toContain('ash');
    }
    expect(JSON.stringify(api.log.lines)).not.toContain(key.slice(-20));
  });

  it('stores chats in their canonical form, each scope once, and limits with defaults', async () => {
    const { body } = await create({
      name: 'k',
      scopes: ['messages:send', 'messages:send'],
      chats: ['+54 9 3777 239922'],
      limits: { perMinute: 5 },
    });
    expect(body.data).toMatchObject({
      scopes: ['messages:send'],
      chats: ['5493777239922'],
      limits: { perMinute: 5, perSecond: 10 },
    });
  });

  it.each([
    ['no name', { scopes: ['tasks'] }, 'name'],
    ['a blank name', { name: '  ', scopes: ['tasks'] }, 'name'],
    ['no scope', { name: 'k', scopes: [] }, 'scopes'],
    ['an unknown scope', { name: 'k', scopes: ['everything'] }, 'scopes.0'],
    ['no chat', { name: 'k', scopes: ['tasks'], chats: [] }, 'chats'],
    ['every chat', { name: 'k', scopes: ['tasks'], chats: ['*'] }, 'chats.0'],
    ['a route that is no id', { name: 'k', scopes: ['tasks'], routes: ['5493777239922'] }, 'routes.0'],
    ['a limit of 0', { name: 'k', scopes: ['tasks'], limits: { perMinute: 0 } }, 'limits.perMinute'],
    ['a past expiry', { name: 'k', scopes: ['tasks'], expiresAt: '2026-01-02T03:04:05Z' }, 'expiresAt'],
    ['no account', { name: 'k', scopes: ['tasks'], accounts: [] }, 'accounts'],
    ['an account that is no id', { name: 'k', scopes: ['tasks'], accounts: ['no id!'] }, 'accounts.0'],
    ...(['admin', 'playground', 'webhooks:manage'] as const).flatMap((scope) =>
      Object.entries(RESTRICTED).map(([field, only]): [string, object, string] => [
        `${scope} for some ${field}`,
        { name: 'k', scopes: ['tasks', scope], [field]: only },
        field,
      ]),
    ),
    ['a key to store', { name: 'k', scopes: ['tasks'], key: 'mine' }, 'key'],
  ])('refuses %s', async (_what, body, field) => {
    const answer = await create(body);
    expect(answer.status).toBe(400);
    expect(answer.body.details.map((detail: { field: string }) => detail.field)).toContain(field);
    expect(await api.keys.all()).toEqual([]);
  });
});

it('stores and shows each restriction of a key whose scopes can honour it', async () => {
  const { status, body } = await create({
    name: 'k',
    scopes: ['messages:read', 'routes:read'],
    ...RESTRICTED,
  });
  expect(status).toBe(201);
  expect(body.data).toMatchObject(RESTRICTED);
});

describe('DELETE /api/keys/{id}', () => {
  it('revokes the key', async () => {
    const { data } = (await create({ name: 'k', scopes: ['routes:read'] })).body;
    const gone = await api.call('DELETE', `/api/keys/${data.id}`, undefined, admin);
    expect(gone.body).toMatchObject({ message: 'Key revoked.', data: { id: data.id } });
    const answer = await api.call('GET', '/api/routes', undefined, { 'x-api-key': data.key });
    expect(answer.status).toBe(401);
    expect(answer.body.error).toContain('revoked');
    for (const method of ['GET', 'DELETE']) {
      expect((await api.call(method, `/api/keys/${data.id}`, undefined, admin)).status).toBe(404);
    }
  });
});

it('keys are for admins only: other keys can neither read nor create any', async () => {
  const scopes = ['routes:write', 'messages:read', 'messages:send', 'accounts:manage', 'tasks'] as const;
  const headers = { 'x-api-key': await api.addKey({ scopes: [...scopes] }) };
  expect((await create({ name: 'k', scopes: ['admin'] }, headers)).body.code).toBe('SCOPE_MISSING');
  expect((await api.call('GET', '/api/keys', undefined, headers)).status).toBe(403);
  const other = { 'x-api-key': await api.addKey({ scopes: ['admin'] }) };
  expect((await create({ name: 'k', scopes: ['tasks'] }, other)).status).toBe(201);
});

it('lists keys in pages, oldest first', async () => {
  for (const name of ['a', 'b', 'c']) await create({ name, scopes: ['tasks'] });
  const first = (await api.call('GET', '/api/keys?limit=2', undefined, admin)).body;
  const second = (await api.call('GET', `/api/keys?limit=2&cursor=${first.next}`, undefined, admin)).body;
  const names = [...first.data, ...second.data].map(({ name }: { name: string }) => name);
  expect(names).toEqual(['a', 'b', 'c']);
});
