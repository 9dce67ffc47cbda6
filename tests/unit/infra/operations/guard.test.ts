import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { rawRequest } from '../../../support/raw-request.ts';

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const route = JSON.stringify({
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  environment: 'lab',
  config: { adk: { appName: 'a' } },
});

let api: HttpApi;
afterEach(() => api.close());

describe('on loopback without a key', () => {
  beforeEach(async () => {
    api = await startHttpApi();
  });

  it.each(['localhost', 'localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'LOCALHOST'])(
    'answers requests to the Host %s',
    async (host) => {
      expect((await rawRequest(`${api.url}/api/routes`, { headers: { host } })).status).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'evil.example:3000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    '@',
  ])('refuses the unknown Host %j, as DNS rebinding would send it', async (host) => {
    const answer = await rawRequest(`${api.url}/qr/status`, { headers: { host } });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ success: false, code: 'FOREIGN_HOST' });
  });

  it.each(['https://evil.example', 'null', 'http://localhost:8080', 'file://'])(
    'refuses requests from a page of the origin %s',
    async (origin) => {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await rawRequest(`${api.url}/api/routes`, {
          method,
          headers: { ...json, origin },
          body: method === 'POST' ? route : undefined,
        });
        expect(answer.status).toBe(403);
        expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
      }
      expect(await api.routes.list()).toEqual([]);
    },
  );

  it('answers its own pages', async () => {
    const headers = { ...json, origin: api.url, 'sec-fetch-site': 'same-origin' };
    expect((await rawRequest(`${api.url}/api/routes`, { method: 'POST', headers, body: route })).status).toBe(
      201,
    );
  });

  it('refuses a cross-site write without an origin', async () => {
    const headers = { ...json, 'sec-fetch-site': 'cross-site' };
    const answer = await rawRequest(`${api.url}/api/accounts/default/logout`, { method: 'POST', headers });
    expect(answer.status).toBe(403);
    expect(api.accounts.calls).toEqual([]);
  });

  it.each([
    ['a form', form],
    ['plain text', { 'content-type': 'text/plain' }],
    ['nothing', {}],
    ['a look-alike', { 'content-type': 'application/jsonp' }],
    ['a form with a hint', { 'content-type': 'text/plain; x=application/json' }],
  ])('refuses writes whose body says it is %s', async (_name, headers) => {
    const answer = await rawRequest(`${api.url}/api/routes`, { method: 'POST', headers, body: route });
    expect(answer.status).toBe(415);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it('refuses a form without content, as a cross-site button would send it', async () => {
    const answer = await rawRequest(`${api.url}/api/accounts/default/logout`, {
      method: 'POST',
      headers: form,
    });
    expect(answer.status).toBe(415);
    expect(api.accounts.calls).toEqual([]);
  });

  it('accepts a write without a body from a command line', async () => {
    expect((await rawRequest(`${api.url}/api/accounts/default/restart`, { method: 'POST' })).status).toBe(
      200,
    );
  });
});

/** What proxies, load balancers and networks of servers add, and the mark of wa2ai's own requests. */
const FORWARDED: Array<Record<string, string>> = [
  { 'X-Forwarded-For': '203.0.113.9' },
  { 'X-Forwarded-For': '127.0.0.1' },
  { 'x-forwarded-proto': 'https' },
  { 'X-Forwarded-Host': 'bot.example' },
  { 'X-Forwarded-Port': '443' },
  { 'X-Forwarded-Server': 'proxy' },
  { 'X-Forwarded-Prefix': '/wa2ai' },
  { 'X-Forwarded': 'for=203.0.113.9' },
  { 'X-Forward-For': '203.0.113.9' },
  { 'X-Real-IP': '203.0.113.9' },
  { 'X-Client-IP': '203.0.113.9' },
  { 'X-Cluster-Client-IP': '203.0.113.9' },
  { 'X-Original-Forwarded-For': '203.0.113.9' },
  { 'X-Original-Host': 'bot.example' },
  { 'X-Envoy-External-Address': '203.0.113.9' },
  { 'X-Azure-ClientIP': '203.0.113.9' },
  { 'X-Amzn-Trace-Id': 'Root=1' },
  { Forwarded: 'for=203.0.113.9' },
  { Via: '1.1 proxy' },
  { 'CF-Connecting-IP': '203.0.113.9' },
  { 'CF-Ray': '1' },
  { 'CDN-Loop': 'cloudflare' },
  { 'True-Client-IP': '203.0.113.9' },
  { 'Fastly-Client-IP': '203.0.113.9' },
  { 'Fly-Client-IP': '203.0.113.9' },
  { 'DO-Connecting-IP': '203.0.113.9' },
  { 'X-Wa2ai-Sender': 'wa2ai' },
  { 'X-Forwarded-For': '' },
];

describe('a request that a proxy or wa2ai itself sends to loopback, without a login', () => {
  beforeEach(async () => {
    api = await startHttpApi();
  });

  it.each(FORWARDED)('gets nothing with %j', async (headers) => {
    for (const path of ['/api/routes', '/api/keys', '/api/session', '/qr/status', '/qr/image', '/metrics']) {
      const answer = await rawRequest(api.url + path, { headers });
      expect(answer.status, path).toBe(401);
      expect(JSON.parse(answer.text)).toMatchObject({
        code: 'UNAUTHORIZED',
        error: expect.stringContaining('proxy'),
      });
    }
    for (const path of ['/', '/qr']) expect((await rawRequest(api.url + path, { headers })).status).toBe(401);
    expect((await rawRequest(`${api.url}/first-run`, { headers })).status).toBe(303);
    const body = JSON.stringify({ name: 'stolen', scopes: ['admin'] });
    const made = await rawRequest(`${api.url}/api/keys`, {
      method: 'POST',
      headers: { ...json, ...headers },
      body,
    });
    expect(made.status).toBe(401);
    expect(await api.keys.all()).toEqual([]);
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'task.list', params: {} });
    const rpc = await rawRequest(`${api.url}/rpc`, {
      method: 'POST',
      headers: { ...json, ...headers },
      body: call,
    });
    expect(JSON.parse(rpc.text)).toMatchObject({ id: 1, error: { code: -32001 } });
  });

  it('gets nothing over HTTP/1.0, which a proxy speaks that adds no header', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    socket.end(`GET /api/routes HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    expect((await text(socket)).split('\r\n')[0]).toContain('401');
  });

  it('may do with a key what the key allows', async () => {
    const key = await api.addKey({ scopes: ['routes:read'] });
    for (const headers of FORWARDED) {
      const answer = await rawRequest(`${api.url}/api/routes`, { headers: { ...headers, 'x-api-key': key } });
      expect(answer.status).toBe(200);
    }
  });

  it('still reads what is public', async () => {
    for (const path of ['/health/live', '/health', '/openapi.json', '/docs/README.md']) {
      expect((await rawRequest(api.url + path, { headers: { via: '1.1 proxy' } })).status).toBe(200);
    }
  });
});

describe('with a key', () => {
  beforeEach(async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
  });

  const guarded = [
    ['GET', '/api/routes'],
    ['POST', '/api/routes'],
    ['POST', '/api/routes/explain'],
    ['DELETE', '/api/routes/1'],
    ['GET', '/api/accounts'],
    ['POST', '/api/accounts/default/logout'],
    ['GET', '/api/messages'],
    ['POST', '/api/messages'],
    ['GET', '/api/dead-letters'],
    ['GET', '/qr/image'],
    ['GET', '/qr/status'],
    ['GET', '/metrics'],
    ['GET', '/nowhere'],
  ];

  it.each(guarded)(
    'refuses %s %s without it, with a wrong one and with a stale session',
    async (method, path) => {
      for (const headers of [
        {},
        { 'x-api-key': 'wrong' },
        { 'x-api-key': '' },
        { authorization: `Basic ${ADMIN_KEY}` },
        { authorization: 'Bearer' },
        { authorization: `Bearer ${ADMIN_KEY}x` },
        { cookie: 'wa2ai_session=; wa2ai_session=9999999999999.x' },
        { cookie: `wa2ai_session=${'A'.repeat(43)}` },
      ]) {
        const answer = await api.call(
          method as string,
          path as string,
          undefined,
          headers as Record<string, string>,
        );
        expect(answer.status).toBe(401);
        expect(answer.body).toMatchObject({ success: false, code: 'UNAUTHORIZED' });
      }
      expect(api.accounts.calls).toEqual([]);
    },
  );

  it.each<Record<string, string>>([
    { 'x-api-key': ADMIN_KEY },
    { 'X-API-KEY': ADMIN_KEY },
    { authorization: `Bearer ${ADMIN_KEY}` },
    { authorization: `bearer ${ADMIN_KEY}` },
  ])('accepts it as %j', async (headers) => {
    expect((await api.call('GET', '/api/routes', undefined, headers)).status).toBe(200);
  });

  it('accepts any Host name, because the key decides', async () => {
    const headers = { host: 'wa2ai.example', 'x-api-key': ADMIN_KEY };
    expect((await rawRequest(`${api.url}/api/routes`, { headers })).status).toBe(200);
  });

  it.each(['/health/live', '/health', '/openapi.json'])('shows %s without it', async (path) => {
    expect((await api.call('GET', path)).status).toBe(200);
  });

  it.each(['/qr', '/'])('shows a login form and nothing else at %s', async (path) => {
    api.accounts.set({ state: 'pairing', qr: 'SECRET-QR', pairingCode: 'ABCD1234', phone: '5493777239922' });
    const answer = await api.call('GET', path);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('<form method="post" action="login">');
    for (const secret of ['SECRET-QR', 'ABCD', '5493777239922', 'default']) {
      expect(answer.text).not.toContain(secret);
    }
  });

  it('logs a browser in with the form, for the pages and their calls', async () => {
    const answer = await api.call('POST', '/login', `key=${ADMIN_KEY}`, form);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('./qr');
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict/);
    expect(cookie).not.toContain(ADMIN_KEY);
    const headers = { cookie: cookie.split(';')[0] as string, 'x-wa2ai-csrf': '1' };
    expect((await api.call('GET', '/qr', undefined, headers)).status).toBe(200);
    const origin = { ...headers, origin: api.url };
    expect((await api.call('POST', '/api/accounts/default/restart', {}, origin)).status).toBe(200);
  });

  it('refuses cross-site requests of a logged-in browser', async () => {
    const own = await api.openSession();
    const { origin, 'x-wa2ai-csrf': proof, ...cookie } = own;
    const logout = async (headers: Record<string, string | undefined>) => {
      const sent = Object.entries(headers).filter((each): each is [string, string] => each[1] !== undefined);
      const answer = await api.call('POST', '/api/accounts/default/logout', {}, Object.fromEntries(sent));
      return [answer.status, answer.body.code];
    };
    const foreign = [403, 'FOREIGN_ORIGIN'];
    expect(await logout({ ...own, origin: 'http://localhost:1' })).toEqual(foreign);
    expect(await logout({ ...own, origin: 'null' })).toEqual(foreign);
    expect(await logout({ ...own, 'sec-fetch-site': 'same-site' })).toEqual(foreign);
    expect(await logout({ ...own, 'sec-fetch-site': 'cross-site' })).toEqual(foreign);
    expect(await logout({ ...cookie, 'x-wa2ai-csrf': proof })).toEqual(foreign);
    expect(await logout({ ...cookie, origin })).toEqual([403, 'CSRF_HEADER_MISSING']);
    expect(await logout({ ...cookie, origin, 'x-wa2ai-csrf': '0' })).toEqual([403, 'CSRF_HEADER_MISSING']);
    expect(api.accounts.calls).toEqual([]);
  });

  it.each(['key=wrong', 'key=', '', 'key=a&key=b', '%%%'])('refuses the login %j', async (body) => {
    const answer = await api.call('POST', '/login', body, form);
    expect([400, 401]).toContain(answer.status);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('never logs a key', async () => {
    await api.call('POST', '/login', 'key=hunter2hunter2', form);
    expect(api.log.lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(api.log.lines)).not.toContain('hunter2');
  });
});

describe('with wrong keys', () => {
  it('lets the checks of an address wait, and answers the admin and keys of the API', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    const key = await api.addKey({ scopes: ['routes:read'] });
    const call = (text: string) => api.call('GET', '/api/routes', undefined, { 'x-api-key': text });
    for (let n = 0; n < 5; n++) expect((await call('wrong')).status).toBe(401);
    expect(api.waits).toEqual([250, 500]);
    expect((await call(key)).status).toBe(200);
    expect(api.waits).toHaveLength(2);
    expect((await call(ADMIN_KEY)).status).toBe(200);
    expect(api.waits).toEqual([250, 500, 1_000]);
  });

  it('counts the keys of public pages and of the login form too', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    for (let n = 0; n < 3; n++) await api.call('GET', '/', undefined, { 'x-api-key': 'wrong' });
    await api.call('POST', '/login', 'key=wrong', form);
    const answer = await api.call('POST', '/login', `key=${ADMIN_KEY}`, form);
    expect([answer.status, api.waits]).toEqual([303, [250, 500]]);
  });

  it('says that a key has expired', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    const key = await api.addKey({ scopes: ['routes:read'], expiresAt: new Date(api.clock.nowMs) });
    const answer = await api.call('GET', '/api/routes', undefined, { authorization: `Bearer ${key}` });
    expect(answer.body).toMatchObject({ code: 'UNAUTHORIZED', error: expect.stringContaining('expired') });
  });
});

describe('keys of the API on loopback without an admin key', () => {
  it('have their scopes only, whatever the Host is', async () => {
    api = await startHttpApi();
    const headers = { 'x-api-key': await api.addKey({ scopes: ['routes:read'] }), host: 'wa2ai.example' };
    expect((await rawRequest(`${api.url}/api/routes`, { headers })).status).toBe(200);
    const refused = await rawRequest(`${api.url}/api/accounts`, { headers });
    expect([refused.status, JSON.parse(refused.text).code]).toEqual([403, 'SCOPE_MISSING']);
  });

  it('are refused when they were revoked: the call is not one of this machine', async () => {
    api = await startHttpApi();
    const key = await api.addKey({ scopes: ['routes:read'] });
    const [stored] = await api.keys.all();
    await api.keys.delete(stored?.id ?? '');
    expect((await api.call('GET', '/api/routes', undefined, { 'x-api-key': key })).status).toBe(401);
  });

  it('are refused when they are wrong, so that a typing error shows before production', async () => {
    api = await startHttpApi();
    const answer = await api.call('GET', '/api/routes', undefined, { 'x-api-key': 'wrong' });
    expect([answer.status, answer.body]).toMatchObject([401, { code: 'UNAUTHORIZED' }]);
    expect((await api.call('GET', '/api/routes')).status).toBe(200);
  });
});

it.each(['/qr', '/api/routes', '/nowhere', '/health'])('sends the security headers with %s', async (path) => {
  api = await startHttpApi();
  const { headers } = await api.call('GET', path);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-powered-by')).toBeNull();
});
