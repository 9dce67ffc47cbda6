import { describe, expect, it } from 'vitest';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const call = (method: string, path = '', body?: unknown, key = ADMIN_KEY) =>
  api.call(method, `/api/webhooks${path}`, body, { 'x-api-key': key });

const given = { url: 'https://example.com/hook?token=abc', events: ['message', 'message', 'delivery'] };
const create = async (more: Record<string, unknown> = {}) =>
  (await call('POST', '', { ...given, ...more })).body.data;

describe('POST /api/webhooks', () => {
  it('makes a secret and shows it once', async () => {
    const { status, body, headers } = await call('POST', '', given);
    expect(status).toBe(201);
    const { secret, ...shown } = body.data;
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(shown).toMatchObject({
      url: given.url,
      events: ['message', 'delivery'],
      enabled: true,
      failures: 0,
      waiting: 0,
    });
    expect(headers.get('location')).toBe(`../api/webhooks/${shown.id}`);
    expect(await api.webhooks.secretOf(shown.id)).toBe(secret);
    for (const path of ['', `/${shown.id}`, `/${shown.id}/deliveries`]) {
      expect((await call('GET', path)).text).not.toContain(secret);
    }
    expect(JSON.stringify(api.log.lines)).not.toContain(secret);
    expect(JSON.stringify(api.log.lines)).not.toContain('token=abc');
  });

  it('never shows a secret that it was given', async () => {
    const { status, text } = await call('POST', '', { ...given, secret: 'sixteen letters!' });
    expect(status).toBe(201);
    expect(text).not.toContain('sixteen');
  });

  it.each([
    [{ url: 'ftp://example.com' }, 'url'],
    [{ url: 'https://user:pass@example.com' }, 'url'],
    [{ url: 'http://169.254.169.254/latest' }, 'url'],
    [{ events: [] }, 'events'],
    [{ events: ['everything'] }, 'events.0'],
    [{ secret: 'short' }, 'secret'],
    [{ accountId: 'no account!' }, 'accountId'],
    [{ colour: 'red' }, 'colour'],
  ])('refuses %o', async (more, field) => {
    const { status, body } = await call('POST', '', { ...given, ...more });
    expect(status).toBe(400);
    expect(body.details[0].field).toBe(field);
    expect(await api.webhooks.list()).toEqual([]);
  });

  it('refuses more than fifty webhooks', async () => {
    for (let n = 0; n < 50; n++) {
      await api.webhooks.create({
        id: `${n}`,
        url: 'http://a',
        events: ['reply'],
        secret: 's',
        enabled: true,
      });
    }
    const { status, body } = await call('POST', '', given);
    expect([status, body.code]).toEqual([409, 'TOO_MANY_WEBHOOKS']);
  });
});

describe('keys for /api/webhooks', () => {
  it('need the scope webhooks:manage, which may read what webhooks get', async () => {
    const reader = await api.addKey({ scopes: ['messages:read', 'accounts:manage'] });
    expect((await call('GET', '', undefined, reader)).body.code).toBe('SCOPE_MISSING');
    const manager = await api.addKey({ scopes: ['webhooks:manage'] });
    expect((await call('POST', '', given, manager)).status).toBe(201);
    expect((await api.call('GET', '/api/messages', undefined, { 'x-api-key': manager })).status).toBe(200);
  });

  it('must not be restricted to chats: a webhook gets the events of every chat', async () => {
    const { id } = await create();
    const key = await api.addKey({ scopes: ['webhooks:manage'], chats: ['5493777239922'] });
    for (const [method, path, body] of [
      ['POST', '', given],
      ['GET', '', undefined],
      ['GET', `/${id}`, undefined],
      ['PATCH', `/${id}`, { enabled: false }],
      ['POST', `/${id}/test`, undefined],
      ['GET', `/${id}/deliveries`, undefined],
      ['POST', `/${id}/deliveries/1/retry`, undefined],
      ['DELETE', `/${id}`, undefined],
    ] as const) {
      const answer = await call(method, path, body, key);
      expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([403, 'CHAT_NOT_ALLOWED']);
    }
  });
});

describe('/api/webhooks/{id}', () => {
  it('is shown, changed and deleted', async () => {
    const { id } = await create({ accountId: 'sales' });
    expect((await call('GET', `/${id}`)).body.data.accountId).toBe('sales');
    const { status, body } = await call('PATCH', `/${id}`, { events: ['reply', 'reply'], accountId: null });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ url: given.url, events: ['reply'] });
    expect(body.data).not.toHaveProperty('accountId');
    expect((await call('GET')).body).toMatchObject({ count: 1, data: [{ id, events: ['reply'] }] });
    expect((await call('DELETE', `/${id}`)).status).toBe(200);
    for (const [method, path, change] of [
      ['GET', '', undefined],
      ['PATCH', '', { enabled: true }],
      ['DELETE', '', undefined],
      ['POST', '/test', undefined],
      ['GET', '/deliveries', undefined],
      ['POST', '/deliveries/1/retry', undefined],
    ] as const) {
      expect((await call(method, `/${id}${path}`, change)).status, `${method} ${path}`).toBe(404);
    }
  });

  it('is not changed or deleted by a caller who has not seen the last change', async () => {
    const { id } = await create();
    const etag = async () => (await call('GET', `/${id}`)).headers.get('etag') ?? '';
    const change = (method: string, seen: string, body?: object) =>
      api.call(method, `/api/webhooks/${id}`, body, { 'x-api-key': ADMIN_KEY, 'if-match': seen });
    const first = await etag();
    api.webhooks.emit('message', 'default', '1');
    expect(await etag()).toBe(first);
    const changed = await change('PATCH', first, { url: 'https://example.com/other' });
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, await etag()]);
    for (const [method, body] of [
      ['PATCH', { enabled: false }],
      ['DELETE', undefined],
    ] as const) {
      const { status, body: problem } = await change(method, first, body);
      expect([status, problem.code]).toEqual([412, 'PRECONDITION_FAILED']);
    }
    expect((await change('DELETE', await etag())).status).toBe(200);
  });

  it('refuses an empty change, and an address that may not be called', async () => {
    const { id } = await create();
    expect((await call('PATCH', `/${id}`, {})).status).toBe(400);
    const { status, body } = await call('PATCH', `/${id}`, { url: 'http://169.254.169.254/' });
    expect([status, body.details[0].field]).toEqual([400, 'url']);
  });

  it('shows why it was switched off, until it is switched on', async () => {
    const { id } = await create();
    api.webhooks.emit('message', 'default', '1');
    const [due] = await api.webhooks.claim(1, new Map(), 1_000);
    if (!due) throw new Error('nothing is due');
    await api.webhooks.markFailed(due, { error: 'Gone.', disabledReason: 'It is gone.' });
    const off = {
      enabled: false,
      disabledReason: 'It is gone.',
      failures: 1,
      failingSince: expect.any(String),
    };
    expect((await call('GET', `/${id}`)).body.data).toMatchObject(off);
    const { body } = await call('PATCH', `/${id}`, { enabled: true });
    expect(body.data).toMatchObject({ enabled: true, failures: 0 });
    expect(body.data).not.toHaveProperty('disabledReason');
  });
});

describe('POST /api/webhooks/{id}/test', () => {
  it('sends a test event and says what the receiver answered', async () => {
    const { id, secret } = await create();
    const { body } = await call('POST', `/${id}/test`);
    expect(body.data).toEqual({ isDelivered: true, eventId: expect.any(String), status: 200 });
    expect(api.testEvents.sent).toEqual([
      { eventId: body.data.eventId, url: given.url, secret, accountId: 'default' },
    ]);
    api.testEvents.answer = { status: 500, error: 'The receiver answered status 500.' };
    expect((await call('POST', `/${id}/test`)).body.data).toMatchObject({
      isDelivered: false,
      status: 500,
      error: 'The receiver answered status 500.',
    });
    api.testEvents.answer = { error: 'Cannot connect.' };
    expect((await call('POST', `/${id}/test`)).body.data).toMatchObject({
      isDelivered: false,
      error: 'Cannot connect.',
    });
  });
});

describe('/api/webhooks/{id}/deliveries', () => {
  it('are listed in pages, newest first, without texts of people', async () => {
    const { id } = await create();
    for (let n = 1; n <= 3; n++) api.webhooks.emit('message', 'default', '1', { text: 'private' });
    const [due] = await api.webhooks.claim(1, new Map(), 1_000);
    if (!due) throw new Error('nothing is due');
    await api.webhooks.markDelivered(due, 200);
    const { body, text } = await call('GET', `/${id}/deliveries?limit=2`);
    expect(body).toMatchObject({
      count: 2,
      data: [{ state: 'pending', event: 'message' }, { state: 'pending' }],
    });
    expect(text).not.toContain('private');
    const rest = await call('GET', `/${id}/deliveries?limit=2&cursor=${body.next}`);
    expect(rest.body.data).toMatchObject([{ state: 'delivered', status: 200, attempts: 1 }]);
    expect(rest.body).not.toHaveProperty('next');
    expect((await call('GET', `/${id}/deliveries?state=delivered`)).body.count).toBe(1);
    expect((await call('GET', `/${id}/deliveries?state=lost`)).status).toBe(400);
  });

  it('are sent again when they are dead', async () => {
    const { id } = await create();
    api.webhooks.emit('message', 'default', '1');
    const [due] = await api.webhooks.claim(1, new Map(), 1_000);
    if (!due) throw new Error('nothing is due');
    const retry = (deliveryId: string) => call('POST', `/${id}/deliveries/${deliveryId}/retry`);
    expect((await retry(due.id)).body.code).toBe('NOT_DEAD');
    await api.webhooks.markFailed(due, { error: 'It failed.' });
    expect((await call('GET', `/${id}/deliveries`)).body.data[0]).toMatchObject({
      state: 'dead',
      error: 'It failed.',
    });
    expect((await retry(due.id)).status).toBe(202);
    expect((await call('GET', `/${id}/deliveries`)).body.data[0].state).toBe('pending');
    expect((await retry('999')).status).toBe(404);
  });
});
