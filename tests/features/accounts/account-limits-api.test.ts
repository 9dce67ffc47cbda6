import { describe, expect, it } from 'vitest';
import { httpApi } from '../../support/http-api.ts';

const DAY_MS = 86_400_000;

const api = httpApi();

describe('GET /api/accounts/{id}/history', () => {
  it('lists the states of an account in pages, newest first', async () => {
    await api.accountStore.save('default', { state: 'waiting', reason: 'No network.' });
    await api.accountStore.save('default', { state: 'open' });
    const first = await api.call('GET', '/api/accounts/default/history?limit=1');
    expect(first.body.data).toMatchObject([{ state: 'open' }]);
    expect(first.body.data[0]).not.toHaveProperty('node');
    const second = await api.call('GET', `/api/accounts/default/history?cursor=${first.body.next}`);
    expect(second.body.data).toMatchObject([{ state: 'waiting', reason: 'No network.' }]);
    expect(second.body.next).toBeUndefined();
  });

  it('does not know another account', async () => {
    expect((await api.call('GET', '/api/accounts/other/history')).status).toBe(404);
    expect((await api.call('GET', '/api/accounts/other/limits')).status).toBe(404);
  });
});

describe('GET /api/accounts/{id}/limits', () => {
  it('shows what is used of the budget of first contacts, during the warm-up', async () => {
    api.messageLog.firstContact = { accountAgeMs: 7 * DAY_MS, earlierMs: [60_000, 2 * 3_600_000] };
    const { body } = await api.call('GET', '/api/accounts/default/limits');
    expect(body.data).toEqual({
      whatsapp: [],
      firstContacts: {
        perDay: 150,
        inDay: 2,
        perHour: 75,
        inHour: 1,
        perDayLater: 200,
        warmUpUntil: new Date(api.clock.nowMs + 7 * DAY_MS).toISOString(),
      },
      messages: { perSecond: 80, burst: 1_000 },
    });
  });

  it('shows limits of WhatsApp, and the settings of the account itself', async () => {
    await api.accountStore.beginLimit('default', { kind: 'new-contacts', reason: '463', forMs: 60_000 });
    await api.call('PUT', '/api/settings/governor', {
      accounts: {
        default: {
          firstContacts: { perDay: 0 },
          quietHours: { from: '03:00', to: '04:00', timeZone: 'UTC' },
        },
      },
    });
    const { body } = await api.call('GET', '/api/accounts/default/limits');
    expect(body.data.whatsapp).toEqual([
      { kind: 'new-contacts', reason: '463', until: new Date(api.clock.nowMs + 60_000).toISOString() },
    ]);
    expect(body.data).not.toHaveProperty('firstContacts');
    expect(body.data.quietHours).toMatchObject({ from: '03:00', isNow: true });
  });
});
