import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { AccountStatus } from '../../../router/src/core/ports/chat-provider.ts';
import { ADMIN_KEY, httpApi, startHttpApi } from '../../support/http-api.ts';

const PNG_SIGNATURE = '89504e470d0a1a0a';

const api = httpApi();

const pairing: Partial<AccountStatus> = {
  state: 'pairing',
  nextAction: 'Scan the code with WhatsApp.',
  qr: '2@abc,def,ghi',
};

describe('GET /qr/status', () => {
  it('returns state, next action and the raw code while pairing', async () => {
    api.accounts.set({ ...pairing, expiresAtMs: 60_000 });
    const { status, body } = await api.call('GET', '/qr/status');
    expect(status).toBe(200);
    expect(body).toEqual({
      accountId: 'default',
      state: 'pairing',
      nextAction: 'Scan the code with WhatsApp.',
      qr: '2@abc,def,ghi',
      expiresAt: '1970-01-01T00:01:00.000Z',
    });
  });

  it('names the linked account, once known', async () => {
    api.accounts.set({ phone: '5493777239922', name: 'Ana' });
    const { body } = await api.call('GET', '/qr/status');
    expect(body.account).toEqual({ id: 'default', phone: '5493777239922', name: 'Ana' });
  });

  it('reports pairing only, not which node owns the account', async () => {
    api.accounts.set({ ...pairing, node: 'n1', isConnected: false });
    expect((await api.call('GET', '/qr/status')).body).not.toHaveProperty('node');
    expect((await api.call('GET', '/api/accounts/default')).body.data).toMatchObject({ node: 'n1' });
  });

  it('shows another account on request, and 404 for an unknown one', async () => {
    api.accounts.set({ accountId: 'sales', state: 'waiting' });
    expect((await api.call('GET', '/qr/status?account=sales')).body.state).toBe('waiting');
    expect((await api.call('GET', '/qr/status?account=other')).status).toBe(404);
    const byId = await api.call('GET', '/qr/status?accountId=sales');
    expect(byId.body).toMatchObject({ accountId: 'sales', state: 'waiting' });
    expect((await api.call('GET', '/qr/status?accountId=sales&account=default')).status).toBe(400);
  });
});

describe('GET /qr/image', () => {
  it('draws the code as PNG', async () => {
    api.accounts.set(pairing);
    const response = await fetch(`${api.url}/qr/image`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.subarray(0, 8).toString('hex')).toBe(PNG_SIGNATURE);
  });

  it('responds 404 when there is no code', async () => {
    const answer = await api.call('GET', '/qr/image');
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({
      code: 'NO_QR',
      error: 'There is no QR code to show; the account is open.',
    });
  });
});

describe('GET /qr', () => {
  const shown = async (status: Partial<AccountStatus>) => {
    api.accounts.set(status);
    return (await api.call('GET', '/qr')).text;
  };

  it('shows the picture, and a new one when the code changes', async () => {
    const picture = /<img class="qr" src="([^"]+)"/;
    const page = await shown(pairing);
    expect(page).not.toContain('2@abc');
    const [, first] = picture.exec(page) ?? [];
    const [, same] = picture.exec(await shown(pairing)) ?? [];
    const [, second] = picture.exec(await shown({ ...pairing, qr: '2@other' })) ?? [];
    expect(first).toMatch(
      /^qr\/image\?account=default&amp;v=[0-9a-f]{12}$|^qr\/image\?account=default&v=[0-9a-f]{12}$/,
    );
    expect(same).toBe(first);
    expect(second).not.toBe(first);
    expect((await api.call('GET', `/${first?.replace('&amp;', '&')}`)).status).toBe(200);
  });

  it('shows how to add the first route until one exists', async () => {
    const before = await shown({});
    expect(before).toContain('No route exists yet, so no message is answered.');
    expect(before).not.toContain('Nothing to do');
    const command = /<pre>(.*)<\/pre>/s.exec(before)?.[1]?.replaceAll('&quot;', '"').replaceAll('&#39;', "'");
    expect(command).toContain(`curl -X POST ${api.url}/api/routes`);
    const [, body = ''] = /-d '(.*)'$/.exec(command ?? '') ?? [];
    expect((await api.call('POST', '/api/routes', JSON.parse(body))).status).toBe(201);
    expect(await shown({})).not.toContain('No route exists yet');
  });

  it('loads nothing from other origins and allows only its own script and style', async () => {
    api.accounts.set(pairing);
    const { text, headers } = await api.call('GET', '/qr');
    expect(text).not.toMatch(/(?:src|href|action)="(?!data:image\/svg)(?:[a-z]+:|\/\/)/);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).not.toContain('unsafe');
    const own = [...text.matchAll(/<(script|style)>([\s\S]*?)<\/\1>/g)];
    expect(own.map(([, tag]) => tag)).toEqual(['style', 'script']);
    for (const [, tag, content = ''] of own) {
      const hash = createHash('sha256').update(content).digest('base64');
      expect(policy).toContain(`${tag}-src 'sha256-${hash}';`);
    }
    expect(text).not.toMatch(/ on\w+=| style=/);
  });

  it('links to the other accounts', async () => {
    api.accounts.set({ accountId: 'sales' });
    expect((await api.call('GET', '/qr')).text).toContain('<a href="qr?account=sales">sales</a>');
  });

  it('sets its viewport and its language', async () => {
    const text = await shown({});
    expect(text).toContain('<html lang="en">');
    expect(text).toContain('name="viewport" content="width=device-width, initial-scale=1"');
  });
});

it('GET / leads to the console', async () => {
  const { status, headers } = await api.call('GET', '/');
  expect([status, headers.get('location')]).toEqual([303, 'console/']);
});

describe('an error', () => {
  const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

  it.each([
    ['/qr?account=tpyo', 404, 'There is no WhatsApp account with this id.'],
    ['/nowhere', 404, 'There is nothing at this path.'],
  ])('is a page for a browser that requests %s', async (path, status, sentence) => {
    const answer = await api.call('GET', path, undefined, asBrowser);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'none';");
    expect(answer.text).toContain(`<p>${sentence}</p>`);
  });

  it.each([
    ['GET', {}],
    ['GET', { accept: 'application/json' }],
    ['POST', asBrowser],
  ])('is JSON for other clients (%s, %j)', async (method, headers) => {
    const answer = await api.call(method, '/nowhere', undefined, headers);
    expect(answer.body).toMatchObject({ success: false, code: 'NOT_FOUND' });
  });
});

it('logs a browser in to the page it requested, and out again', async () => {
  const guarded = await startHttpApi({ apiKey: ADMIN_KEY });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await guarded.call('GET', '/')).text).toContain('name="page" value="/"');
  const login = await guarded.call('POST', '/login', `key=${ADMIN_KEY}&page=/`, form);
  expect(login.status).toBe(303);
  expect(login.headers.get('location')).toBe('./');
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  expect((await guarded.call('GET', '/', undefined, { cookie })).headers.get('location')).toBe('console/');
  const page = { ...form, cookie, origin: guarded.url };
  const logout = await guarded.call('POST', '/logout', '', page);
  expect((await guarded.call('GET', '/', undefined, { cookie })).status).toBe(401);
  expect(logout.headers.get('set-cookie')).toMatch(/^wa2ai_session=; .*Max-Age=0/);
  await guarded.close();
});
