import { describe, expect, it, onTestFinished } from 'vitest';
import { ADMIN_KEY, startHttpApi } from '../../support/http-api.ts';

describe('GET /metrics', () => {
  it('is text for Prometheus with the accounts and nodes of the view', async () => {
    const api = await startHttpApi();
    onTestFinished(() => api.close());
    api.accounts.set({ accountId: 'sales', state: 'waiting' });
    const { status, headers, text } = await api.call('GET', '/metrics');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=/);
    expect(text).toContain('\nwa2ai_account_state{account="sales",state="waiting"} 1\n');
  });

  it('is 200 when the database is unavailable', async () => {
    const api = await startHttpApi();
    onTestFinished(() => api.close());
    api.messageLog.failure = new Error('away');
    const { status, text } = await api.call('GET', '/metrics');
    expect(status).toBe(200);
    expect(text).toContain('\nwa2ai_database_up 0\n');
  });

  it('needs the key when one is set', async () => {
    const guarded = await startHttpApi({ apiKey: ADMIN_KEY });
    onTestFinished(() => guarded.close());
    expect((await guarded.call('GET', '/metrics')).status).toBe(401);
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    expect((await guarded.call('GET', '/metrics', undefined, headers)).status).toBe(200);
  });
});
