import { describe, expect, it } from 'vitest';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const call = (method: string, body?: unknown, key = ADMIN_KEY) =>
  api.call(method, '/api/settings/governor', body, { 'x-api-key': key });

describe('/api/settings/governor', () => {
  it('shows what applies to all accounts, and to those with their own settings', async () => {
    const builtIn = {
      firstContacts: { perDay: 200, warmUpDays: 14 },
      messages: { perSecond: 80, burst: 1_000 },
      typing: { charsPerSecond: 0, maxMs: 8_000 },
    };
    expect((await call('GET')).body.data).toEqual({ stored: {}, inUse: builtIn, accounts: {} });
    const stored = { firstContacts: { perDay: 50 }, accounts: { shop: { firstContacts: { perDay: 5 } } } };
    const { status, body } = await call('PUT', stored);
    expect(status).toBe(200);
    expect(body.data).toEqual({
      stored,
      inUse: { ...builtIn, firstContacts: { perDay: 50, warmUpDays: 14 } },
      accounts: { shop: { ...builtIn, firstContacts: { perDay: 5, warmUpDays: 14 } } },
    });
    expect((await call('GET')).body.data).toEqual(body.data);
  });

  it.each([
    [{ firstContacts: { perDay: -1 } }, 'firstContacts.perDay'],
    [{ messages: { burst: 0 } }, 'messages.burst'],
    [{ typing: { charsPerSecond: -1 } }, 'typing.charsPerSecond'],
    [{ quietHours: { from: '9', to: '10:00', timeZone: 'UTC' } }, 'quietHours.from'],
    [{ quietHours: { from: '09:00', to: '10:00', timeZone: 'Mars/Base' } }, 'quietHours.timeZone'],
  ])('refuses %o', async (body, field) => {
    const { status, body: problem } = await call('PUT', body);
    expect(status).toBe(400);
    expect(problem.details[0].field).toBe(field);
  });

  it('needs the scope agents:manage', async () => {
    const key = await api.addKey({ scopes: ['tasks'] });
    expect((await call('GET', undefined, key)).status).toBe(403);
    expect((await call('PUT', {}, key)).status).toBe(403);
  });
});
