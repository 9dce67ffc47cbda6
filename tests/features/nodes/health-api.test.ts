import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { healthApi } from '../../../router/src/features/nodes/health-api.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

describe('GET /health/ready', () => {
  it('is 200 when the database answers and every account is open', async () => {
    const { status, body } = await api.call('GET', '/health/ready');
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'ready', reasons: [], node: 'n1', accounts: [] });
  });

  it('reports the accounts of this node only', async () => {
    api.accounts.set({ node: 'n1' });
    api.accounts.set({ accountId: 'sales', node: 'n2', state: 'waiting' });
    const { status, body } = await api.call('GET', '/health/ready');
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'ready', reasons: [], node: 'n1', accounts: ['default'] });
  });

  it('is 503 and names each reason otherwise', async () => {
    api.database.failure = new Error('connect ECONNREFUSED 10.0.0.5');
    api.accounts.set({ accountId: 'sales', state: 'logged-out', nextAction: 'Link it again.' });
    const { status, body, text } = await api.call('GET', '/health/ready');
    expect(status).toBe(503);
    expect(body).toEqual({
      status: 'not-ready',
      reasons: [
        { name: 'database', message: 'The database does not answer.' },
        { name: 'account:sales', message: 'The account is in the state logged-out. Link it again.' },
      ],
      node: 'n1',
      accounts: [],
    });
    expect(text).not.toContain('10.0.0.5');
  });

  it('is 200 for an account that WhatsApp limits and that is connected', async () => {
    api.accounts.set({ state: 'restricted', isConnected: true });
    expect((await api.call('GET', '/health/ready')).status).toBe(200);
    api.accounts.set({ state: 'restricted', isConnected: false });
    expect((await api.call('GET', '/health/ready')).status).toBe(503);
  });

  it('is 200 again when the account that was not linked is deleted', async () => {
    api.accounts.set({ accountId: 'tpyo', state: 'pairing' });
    expect((await api.call('GET', '/health/ready')).status).toBe(503);
    await api.call('DELETE', '/api/accounts/tpyo');
    expect((await api.call('GET', '/health/ready')).status).toBe(200);
  });

  it('is 503 as long as there is no account', async () => {
    api.accounts.statuses.clear();
    expect((await api.call('GET', '/health/ready')).body.reasons[0].name).toBe('account');
  });

  it('does not wait for a hung database', async () => {
    const time = new FakeClock();
    vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => time.sleep(ms, signal));
    const storage = { check: () => new Promise<void>(() => {}) };
    const ready = healthApi({ ...api.app, storage }).find(({ path }) => path === '/health/ready');
    const caller = { kind: 'admin-key' as const };
    const { signal } = new AbortController();
    const header = () => undefined;
    const answer = ready?.handle({ params: {}, query: {}, body: {}, caller, header, signal });
    const ended = vi.fn();
    void Promise.resolve(answer).then(ended);
    await time.advanceMs(1_999);
    expect(ended).not.toHaveBeenCalled();
    await time.advanceMs(1);
    expect((await answer)?.status).toBe(503);
  });
});

it('GET /health/live responds whatever the database and the accounts do', async () => {
  api.database.failure = new Error('away');
  api.accounts.statuses.clear();
  expect((await api.call('GET', '/health/live')).status).toBe(200);
});

it('GET /health fails with the database only', async () => {
  api.accounts.set({ state: 'pairing', nextAction: 'Scan the code.', phone: '5493777239922' });
  const working = await api.call('GET', '/health');
  expect(working.status).toBe(200);
  expect(working.body).toEqual({
    status: 'ok',
    uptimeSeconds: expect.any(Number),
    database: 'ok',
    accounts: [{ accountId: 'default', state: 'pairing', nextAction: 'Scan the code.' }],
  });
  expect(working.text).not.toContain('5493777239922');
  api.database.failure = new Error('away');
  expect((await api.call('GET', '/health')).status).toBe(503);
});

describe('a caller who may not read accounts', () => {
  const scopes: Array<['routes:read'] | undefined> = [undefined, ['routes:read']];
  it.each(scopes)('learns how many are not connected, and not which (%j)', async (scopes) => {
    await api.close();
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    api.accounts.set({
      accountId: '5493777239922',
      node: 'n1',
      state: 'logged-out',
      nextAction: 'Link 5493777239922.',
    });
    api.accounts.set({ accountId: 'sales', node: 'n1' });
    const headers: Record<string, string> = scopes ? { 'x-api-key': await api.addKey({ scopes }) } : {};
    const ready = await api.call('GET', '/health/ready', undefined, headers);
    expect(ready.status).toBe(503);
    expect(ready.body).toEqual({
      status: 'not-ready',
      reasons: [
        { name: 'account', message: '1 of the accounts are not connected. Send a key to see which.' },
      ],
      node: 'n1',
    });
    const health = await api.call('GET', '/health', undefined, headers);
    expect(health.body).toEqual({ status: 'ok', uptimeSeconds: expect.any(Number), database: 'ok' });
    const admin = await api.call('GET', '/health/ready', undefined, { 'x-api-key': ADMIN_KEY });
    expect(admin.body.reasons[0].name).toBe('account:5493777239922');
    expect(admin.body.accounts).toEqual(expect.arrayContaining(['5493777239922', 'sales']));
  });

  it('learns of the accounts of its key only', async () => {
    await api.close();
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    api.accounts.set({ accountId: 'support', node: 'n1', state: 'waiting', nextAction: 'Wait.' });
    api.accounts.set({ accountId: 'sales', node: 'n1', state: 'waiting', nextAction: 'Wait.' });
    const key = await api.addKey({ scopes: ['accounts:read'], accounts: ['sales'] });
    const ready = await api.call('GET', '/health/ready', undefined, { 'x-api-key': key });
    const health = await api.call('GET', '/health', undefined, { 'x-api-key': key });
    expect(ready.body.accounts).toEqual(['sales']);
    expect(ready.body.reasons.map(({ name }: { name: string }) => name)).toEqual([
      'account:sales',
      'account',
    ]);
    expect(health.body.accounts.map(({ accountId }: { accountId: string }) => accountId)).toEqual(['sales']);
  });
});
