import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { ADMIN_KEY, httpApi } from '../../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });
const route = {
  channelId: '5493777239922',
  agentEndpoint: 'http://localhost:8000',
  config: { adk: { appName: 'a' } },
};
const admin = { 'x-api-key': ADMIN_KEY };

/** A call with an `Idempotency-Key`. */
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', path, body, { ...admin, 'idempotency-key': 'order-4711', ...headers });

const CREATING = [
  ['/api/routes', route],
  ['/api/keys', { name: 'orders', scopes: ['messages:send'] }],
  ['/api/webhooks', { url: 'http://localhost:8095/', events: ['message'] }],
  ['/api/accounts', { id: 'sales' }],
  ['/api/users', { name: 'ana', password: 'correct horse battery', role: 'owner' }],
  ['/api/agents', { id: 'clerk', hosted: { image: 'agent:1', profile: 'chat' } }],
  ['/api/playground/chats', { kind: 'person', name: 'Ana' }],
  ['/api/playground/scenarios', { yaml: 'name: hello\nsteps:\n  - as: Ana\n    say: hello\n' }],
] as const;

/** Without what is shown once. */
const shownTwice = ({ key: _key, secret: _secret, ...data }: Record<string, unknown>) => data;

const count = async (path: string) => (await api.call('GET', path, undefined, admin)).body.data.length;

it('every POST that creates something takes an Idempotency-Key, except a login', () => {
  const creating = api.endpoints.filter(({ method, responses }) => method === 'post' && responses[201]);
  expect(creating.length).toBeGreaterThan(CREATING.length);
  const without = creating.filter(({ creates }) => !creates).map(({ path }) => path);
  expect(without).toEqual(['/api/session']);
});

describe('a call with an Idempotency-Key', () => {
  it.each(CREATING)(
    'creates one thing by POST %s, and its repeat gets the response of the first',
    async (path, body) => {
      const before = await count(path);
      const first = await post(path, body);
      expect([first.status, first.body]).toEqual([201, expect.objectContaining({ success: true })]);
      const repeat = await post(path, body);
      expect(repeat.status).toBe(201);
      expect(repeat.headers.get('location')).toBe(first.headers.get('location'));
      expect(repeat.body).toEqual({ ...first.body, data: shownTwice(first.body.data) });
      expect(await count(path)).toBe(before + 1);
    },
  );

  it('is refused for another body, and for another operation', async () => {
    await post('/api/routes', route);
    for (const [path, body] of [
      ['/api/routes', { ...route, priority: 3 }],
      ['/api/accounts', { id: 'sales' }],
    ] as const) {
      const { status, body: answer } = await post(path, body);
      expect([status, answer.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    }
    expect(await count('/api/routes')).toBe(1);
  });

  it('is carried out again with another key, without a key, and for another caller', async () => {
    await post('/api/routes', route);
    await post('/api/routes', route, { 'idempotency-key': 'order-4712' });
    await api.call('POST', '/api/routes', route, admin);
    await post('/api/routes', route, { 'x-api-key': await api.addKey({ scopes: ['routes:write'] }) });
    expect(await count('/api/routes')).toBe(4);
  });

  it('is carried out once when both arrive together', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post('/api/routes', route)));
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    expect(await count('/api/routes')).toBe(1);
  });

  it('may be corrected after a mistake', async () => {
    expect((await post('/api/accounts', { id: 'playground' })).status).toBe(409);
    expect((await post('/api/accounts', { id: 'sales' })).status).toBe(201);
  });

  it.each([
    ['routes', '/api/routes', route],
    ['keys', '/api/keys', { name: 'orders', scopes: ['messages:send'] }],
    ['webhooks', '/api/webhooks', { url: 'http://localhost:8095/', events: ['message'] }],
  ])('finds what a first call created whose response was not stored: %s', async (_, path, body) => {
    const end = api.repeatedCalls.end;
    api.repeatedCalls.end = async () => {
      throw new StorageUnavailableError({ sentence: 'The database did not respond.' });
    };
    expect((await post(path, body)).status).toBe(503);
    api.repeatedCalls.end = end;
    const repeat = await post(path, body);
    expect(repeat.status).toBe(201);
    const { data } = (await api.call('GET', path, undefined, admin)).body;
    expect(data).toEqual([repeat.body.data]);
  });

  it('creates nothing again where the object cannot be found by its call', async () => {
    const path = '/api/playground/chats';
    const before = await count(path);
    const end = api.repeatedCalls.end;
    api.repeatedCalls.end = async () => {
      throw new StorageUnavailableError({ sentence: 'The database did not respond.' });
    };
    expect((await post(path, { kind: 'person', name: 'Ana' })).status).toBe(503);
    api.repeatedCalls.end = end;
    for (const _ of [1, 2, 3]) await post(path, { kind: 'person', name: 'Ana' });
    expect(await count(path)).toBe(before + 1);
  });

  it('is refused when the key is not ASCII or too long', async () => {
    const { status, body } = await post('/api/routes', route, { 'idempotency-key': 'x'.repeat(201) });
    expect([status, body.code]).toEqual([400, 'INVALID_HEADERS']);
  });

  it('stores neither a key of the API nor the password of a user', async () => {
    const stored: unknown[] = [];
    const { begin, end } = api.repeatedCalls;
    api.repeatedCalls.begin = (name, call) => {
      stored.push({ ...call, digest: Buffer.from(call.digest).toString() });
      return begin.call(api.repeatedCalls, name, call);
    };
    api.repeatedCalls.end = (name, response) => {
      stored.push(response);
      return end.call(api.repeatedCalls, name, response);
    };
    const { body } = await post('/api/keys', { name: 'k', scopes: ['messages:send'] });
    const user = { name: 'ana', password: 'correct horse battery', role: 'owner' };
    await post('/api/users', user, { 'idempotency-key': 'user-1' });
    expect(stored).toHaveLength(4);
    expect(JSON.stringify(stored)).not.toContain(body.data.key);
    expect(JSON.stringify(stored)).not.toContain(user.password);
  });
});
