import { afterEach, describe, expect, it } from 'vitest';
import { type HttpApi, startHttpApi } from '../../support/http-api.ts';

const PASSWORD = 'correct horse battery';

let api: HttpApi;
afterEach(() => api.close());

const cookieNamed = (name: string, headers: Headers) =>
  headers
    .getSetCookie()
    .find((cookie) => cookie.startsWith(`${name}=`))
    ?.split(';')[0] ?? '';

const login = (name: string, password: string, cookie?: string) =>
  api.call('POST', '/api/session', { name, password }, cookie ? { cookie } : {});

/** The owner `ana`, who signed in once with a browser. */
async function setup() {
  api = await startHttpApi();
  const first = { name: 'ana', password: PASSWORD, role: 'owner' };
  expect((await api.call('POST', '/api/users', first)).status).toBe(201);
  const { headers } = await login('ana', PASSWORD);
  const device = cookieNamed('wa2ai_device', headers);
  expect(device).not.toBe('');
  return { device, session: cookieNamed('wa2ai_session', headers) };
}

/** Somebody takes every attempt for the name as soon as there is one, for some minutes. */
async function attack(name: string, seconds = 300): Promise<void> {
  for (let passed = 0; passed < seconds; passed += 1) {
    await login(name, 'wrong');
    api.clock.nowMs += 1_000;
  }
}

describe('while somebody guesses the password of a name', () => {
  it('its person signs in with a browser that signed in before', async () => {
    const { device } = await setup();
    await attack('ana');
    expect((await login('ana', PASSWORD)).status).toBe(429);
    const known = await login('ana', PASSWORD, device);
    expect(known.status).toBe(201);
    // The attack goes on, and so does the person.
    await attack('ana', 60);
    expect((await login('ana', PASSWORD, cookieNamed('wa2ai_device', known.headers))).status).toBe(201);
  });

  it('its person changes the password in a session', async () => {
    const { session } = await setup();
    await attack('ana');
    const headers = { cookie: session, origin: api.url, 'x-wa2ai-csrf': '1' };
    const body = { currentPassword: PASSWORD, newPassword: 'staple of the battery' };
    expect((await api.call('PUT', '/api/session/password', body, headers)).status).toBe(200);
  });

  it('another person signs in as ever', async () => {
    const { session } = await setup();
    const admin = { cookie: session, origin: api.url, 'x-wa2ai-csrf': '1' };
    await api.call('POST', '/api/users', { name: 'eve', password: PASSWORD, role: 'viewer' }, admin);
    await attack('ana', 15);
    api.clock.nowMs += 6_000;
    expect((await login('eve', PASSWORD)).status).toBe(201);
  });
});

describe('a browser that signed in before', () => {
  it('is slowed down like a name when it guesses', async () => {
    const { device } = await setup();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 8; attempt += 1)
      statuses.push((await login('ana', 'wrong', device)).status);
    expect(statuses.slice(0, 4)).toEqual([401, 401, 401, 401]);
    expect(statuses.slice(5)).toEqual([429, 429, 429]);
    api.clock.nowMs += 61_000;
    expect((await login('ana', PASSWORD, device)).status).toBe(201);
  });

  it.each([
    ['of another user', 'eve', (device: string) => device],
    [
      'that somebody made up',
      'ana',
      () => 'wa2ai_device=AAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    ],
    [
      'with a changed id',
      'ana',
      (device: string) => device.replace(/=./, (start) => (start === '=A' ? '=B' : '=A')),
    ],
    ['with another one beside it', 'ana', (device: string) => `${device}; wa2ai_device=x.y`],
  ])('is not one %s', async (_what, name, change) => {
    const { device, session } = await setup();
    const admin = { cookie: session, origin: api.url, 'x-wa2ai-csrf': '1' };
    await api.call('POST', '/api/users', { name: 'eve', password: PASSWORD, role: 'viewer' }, admin);
    await attack(name, 60);
    expect((await login(name, PASSWORD, change(device))).status).toBe(429);
  });

  it('is forgotten with the password', async () => {
    const { device, session } = await setup();
    const headers = { cookie: session, origin: api.url, 'x-wa2ai-csrf': '1' };
    const password = 'staple of the battery';
    const body = { currentPassword: PASSWORD, newPassword: password };
    expect((await api.call('PUT', '/api/session/password', body, headers)).status).toBe(200);
    await attack('ana', 60);
    expect((await login('ana', password, device)).status).toBe(429);
  });

  it('keeps nothing from which the password could be guessed', async () => {
    const { device } = await setup();
    const { passwordHash = '' } = [...api.users.byKey.values()][0] ?? {};
    expect(passwordHash).not.toBe('');
    expect(passwordHash).not.toContain(device.split('.')[1]);
    expect(device).not.toContain('ana');
  });
});
