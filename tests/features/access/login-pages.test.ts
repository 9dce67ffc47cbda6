import { afterEach, describe, expect, it } from 'vitest';
import { type HttpApi, startHttpApi } from '../../support/http-api.ts';
import { rawRequest } from '../../support/raw-request.ts';

const ADMIN_KEY = 'the-admin-key-of-this-test';
const PASSWORD = 'correct horse battery';
const form = { 'content-type': 'application/x-www-form-urlencoded' };

let api: HttpApi;
afterEach(() => api.close());

const ownerForm = `name=ana&password=${encodeURIComponent(PASSWORD)}`;
const passwordForm = (password: string) => `name=ana&password=${encodeURIComponent(password)}&page=/`;

/** The API with the owner `ana`, without an admin key. */
async function withOwner(options: { apiKey?: string; publicUrl?: string } = {}): Promise<HttpApi> {
  api = await startHttpApi(options);
  const body = { name: 'ana', password: PASSWORD, role: 'owner' };
  const headers: Record<string, string> = options.apiKey ? { 'x-api-key': options.apiKey } : {};
  expect((await api.call('POST', '/api/users', body, headers)).status).toBe(201);
  return api;
}

describe('the first-run page', () => {
  it('adds the first owner on this machine, once', async () => {
    api = await startHttpApi();
    const shown = await api.call('GET', '/first-run');
    expect(shown.status).toBe(200);
    expect(shown.text).toContain('<form method="post" action="first-run">');
    const added = await api.call('POST', '/first-run', ownerForm, form);
    expect(added.status).toBe(303);
    const cookie = added.headers.get('set-cookie')?.split(';')[0] ?? '';
    const session = await api.call('GET', '/api/session', undefined, { cookie });
    expect(session.body.data).toMatchObject({ kind: 'user', name: 'ana', role: 'owner', isFirstRun: false });

    expect((await api.call('GET', '/first-run')).status).toBe(303);
    const second = await api.call('POST', '/first-run', 'name=eve&password=another+horse+battery', form);
    expect(second.status).toBe(303);
    expect(second.headers.get('set-cookie')).toBeNull();
    expect([...api.users.byKey.keys()]).toEqual(['ana']);
  });

  it('says what is wrong with a name or a password, and adds nobody', async () => {
    api = await startHttpApi();
    const short = await api.call('POST', '/first-run', 'name=ana&password=short', form);
    expect(short.status).toBe(400);
    expect(short.text).toContain('role="alert"');
    expect((await api.call('POST', '/first-run', 'name=%20&password=x', form)).status).toBe(400);
    expect(api.users.byKey.size).toBe(0);
  });

  it('does not exist with an admin key, for another host name or another site', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    expect((await api.call('GET', '/first-run')).status).toBe(303);
    expect((await api.call('POST', '/first-run', ownerForm, form)).status).toBe(303);
    expect(api.users.byKey.size).toBe(0);
    await api.close();
    api = await startHttpApi();
    const foreign = { ...form, origin: 'https://evil.example' };
    expect((await api.call('POST', '/first-run', ownerForm, foreign)).status).toBe(403);
    expect(api.users.byKey.size).toBe(0);
  });
});

describe('the login form', () => {
  it('offers only the ways that exist, in the language of the browser', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    const onlyKey = await api.call('GET', '/', undefined, { 'accept-language': 'es-ES,es;q=0.9' });
    expect(onlyKey.text).toContain('<html lang="es">');
    expect(onlyKey.text).toContain('Entrar con la clave de administración');
    const inBrazil = await api.call('GET', '/', undefined, { 'accept-language': 'pt-BR,pt;q=0.9,en;q=0.8' });
    expect(inBrazil.text).toContain('<html lang="pt">');
    expect(inBrazil.text).toContain('Entrar com a chave de administração');
    expect(onlyKey.text).not.toContain('type="password" autocomplete="current-password"');
    await api.close();
    await withOwner();
    const onlyPassword = await api.call('GET', '/');
    expect(onlyPassword.text).toContain('<html lang="en">');
    expect(onlyPassword.text).toContain('autocomplete="current-password"');
    expect(onlyPassword.text).not.toContain('name="key"');
    await api.close();
    await withOwner({ apiKey: ADMIN_KEY });
    const both = (await api.call('GET', '/')).text;
    expect(both).toContain('name="key"');
    expect(both).toContain('autocomplete="current-password"');
  });

  it('says that the password is wrong, and not which names exist', async () => {
    await withOwner();
    const wrong = await api.call('POST', '/login', passwordForm('wrong'), form);
    const unknown = await api.call('POST', '/login', 'name=nobody&password=wrong&page=/', form);
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    const alertOf = (text: string) => /<p role="alert"[^>]*>([^<]*)</.exec(text)?.[1];
    expect(alertOf(wrong.text)).toMatch(/^The name or the password is wrong/);
    expect(alertOf(unknown.text)).toBe(alertOf(wrong.text));
  });

  it('slows down who guesses a password, and lets the owner in after the delay', async () => {
    await withOwner();
    const attempt = async (password: string) => {
      const { status, headers } = await api.call('POST', '/login', passwordForm(password), form);
      return { status, retryAfter: headers.get('retry-after') };
    };
    // The fifth attempt is the first one that begins a delay.
    for (let n = 0; n < 5; n += 1) expect((await attempt(`guess ${n}`)).status).toBe(401);
    expect(await attempt(PASSWORD)).toEqual({ status: 429, retryAfter: '1' });
    api.clock.nowMs += 1_000;
    expect((await attempt('guess 6')).status).toBe(401);
    expect(await attempt(PASSWORD)).toEqual({ status: 429, retryAfter: '2' });
    api.clock.nowMs += 2_000;
    expect((await attempt(PASSWORD)).status).toBe(303);
    // A success resets the count.
    expect((await attempt('guess 7')).status).toBe(401);
    expect((await attempt(PASSWORD)).status).toBe(303);
  });
});

describe('the cookie of a session', () => {
  const login = async (headers: Record<string, string>) => {
    const answer = await rawRequest(`${api.url}/login`, {
      method: 'POST',
      headers: { ...form, ...headers },
      body: passwordForm(PASSWORD),
    });
    return (answer.headers['set-cookie'] ?? []) as string[];
  };
  const behindProxy = (origin: string) => login({ host: new URL(origin).host, origin });

  it('is not for scripts and not for other sites', async () => {
    await withOwner();
    const [session, device] = await login({});
    expect(session).toMatch(/^wa2ai_session=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(device).toMatch(/^wa2ai_device=[\w-]+\.[\w-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/);
  });

  it('is over https one that no other port or subdomain can set', async () => {
    await withOwner();
    for (const cookie of await behindProxy('https://bot.example')) {
      expect(cookie).toMatch(
        /^__Host-wa2ai_\w+=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      );
    }
  });

  it('is for https only, and for the path of wa2ai, behind a proxy with TLS', async () => {
    await withOwner({ publicUrl: 'https://bot.example/wa2ai' });
    const prefixed = /^__Secure-wa2ai_session=.*; Path=\/wa2ai; HttpOnly; SameSite=Strict; Secure$/;
    expect((await behindProxy('https://bot.example'))[0]).toMatch(prefixed);
    const whole = /^__Host-wa2ai_session=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/;
    expect((await behindProxy('https://other.example'))[0]).toMatch(whole);
    expect((await behindProxy(api.url))[0]).toMatch(/^wa2ai_session=.*; Path=\/; HttpOnly; SameSite=Strict$/);
  });

  describe('of which the browser sends several', () => {
    const asked = async (cookie: string, headers: Record<string, string> = {}) => {
      const answer = await rawRequest(`${api.url}/api/session`, { headers: { cookie, ...headers } });
      return { status: answer.status, ...JSON.parse(answer.text) };
    };
    const signedIn = async () => {
      await withOwner();
      const [plain] = await login({});
      const [secure] = await behindProxy('https://bot.example');
      return { plain: plain?.split(';')[0] ?? '', secure: secure?.split(';')[0] ?? '' };
    };

    it('is refused when another port of the host has added one, in either order', async () => {
      const { plain } = await signedIn();
      expect((await asked(plain)).status).toBe(200);
      const foreign = `wa2ai_session=${'A'.repeat(43)}`;
      for (const cookie of [`${plain}; ${foreign}`, `${foreign}; ${plain}`, `${plain}; ${plain}`]) {
        expect(await asked(cookie)).toMatchObject({
          status: 401,
          error: expect.stringContaining('two session'),
        });
      }
    });

    it('is the one that only https can set', async () => {
      const { plain, secure } = await signedIn();
      await api.call(
        'POST',
        '/api/users',
        { name: 'eve', password: 'staple of the battery', role: 'viewer' },
        {
          cookie: plain,
          'x-wa2ai-csrf': '1',
          origin: api.url,
        },
      );
      const eve = await api.call('POST', '/login', 'name=eve&password=staple+of+the+battery&page=/', form);
      const planted = eve.headers.get('set-cookie')?.split(';')[0] ?? '';
      expect((await asked(planted)).data.name).toBe('eve');
      for (const cookie of [`${planted}; ${secure}`, `${secure}; ${planted}`]) {
        expect((await asked(cookie)).data.name).toBe('ana');
      }
    });

    it.each<Record<string, string>>([
      { 'x-forwarded-proto': 'https' },
      { forwarded: 'for=192.0.2.1;proto=https' },
      { origin: 'https://bot.example', host: 'bot.example' },
    ])('is none that http can set, for a browser that uses https: %j', async (headers) => {
      const { plain, secure } = await signedIn();
      expect((await asked(plain, headers)).status).toBe(401);
      expect((await asked(secure, headers)).status).toBe(200);
    });
  });
});

describe('a page behind a proxy, without any login', () => {
  it.each(['/', '/first-run', '/qr'])(
    'says at %s that nobody can log in, and how that changes',
    async (path) => {
      api = await startHttpApi();
      const headers = { 'x-forwarded-for': '203.0.113.9' };
      let answer = await rawRequest(`${api.url}${path}`, { headers });
      if (answer.status === 303) answer = await rawRequest(`${api.url}/`, { headers });
      expect(answer.status).toBe(401);
      expect(answer.text).toContain('WA2AI_API_KEY');
      expect(answer.text).not.toContain('<form');
    },
  );

  it('adds no first owner', async () => {
    api = await startHttpApi();
    const headers = { ...form, 'x-real-ip': '203.0.113.9' };
    const answer = await rawRequest(`${api.url}/first-run`, { method: 'POST', headers, body: ownerForm });
    expect(answer.status).toBe(303);
    expect(api.users.byKey.size).toBe(0);
  });
});
