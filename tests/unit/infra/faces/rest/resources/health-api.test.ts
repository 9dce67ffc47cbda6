import type { Request } from 'express';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { healthApi } from '../../../../../../router/src/infra/faces/rest/resources/health-api.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(async () => {
  vi.useRealTimers();
  await api.close();
});

describe('GET /health/ready', () => {
  it('is 200 when the database answers and every account is open', async () => {
    const { status, body } = await api.call('GET', '/health/ready');
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'ready', reasons: [], node: 'n1', holds: [] });
  });

  it('reports the accounts of this node only', async () => {
    api.accounts.set({ node: 'n1' });
    api.accounts.set({ accountId: 'sales', node: 'n2', state: 'waiting' });
    const { status, body } = await api.call('GET', '/health/ready');
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'ready', reasons: [], node: 'n1', holds: ['default'] });
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
      holds: [],
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
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const storage = { check: () => new Promise<void>(() => {}) };
    const ready = healthApi({ ...api.deps, storage }).find(({ path }) => path === '/health/ready');
    const answer = ready?.handle({ params: {}, query: {}, body: {}, caller: 'key', request: {} as Request });
    await vi.advanceTimersByTimeAsync(2_000);
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

describe('GET /metrics', () => {
  it('counts messages, replies, dead letters, turns and account states', async () => {
    api.accounts.set({ accountId: 'sales', state: 'waiting' });
    const { observeTurn } = api.metrics;
    observeTurn({ state: 'answered', agentMs: 700, routeId: 'r1' }, 'sales');
    observeTurn({ state: 'dead', reason: 'AGENT_TIMEOUT', agentMs: 30_000, routeId: 'r1' }, 'sales');
    observeTurn({ state: 'ignored', reason: 'no-route' }, 'default');
    api.metrics.observeReceived('sales');
    api.metrics.observeSent('sales');
    api.metrics.observeSent('sales');
    const { status, headers, text } = await api.call('GET', '/metrics');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    const lines = text.split('\n');
    for (const line of [
      'wa2ai_messages_waiting 3',
      'wa2ai_oldest_message_seconds 61.5',
      'wa2ai_replies_waiting{state="queued"} 1',
      'wa2ai_replies_waiting{state="sent"} 2',
      'wa2ai_replies_unacknowledged 2',
      'wa2ai_dead_letters 4',
      'wa2ai_database_up 1',
      'wa2ai_account_state{account="default",state="open"} 1',
      'wa2ai_account_state{account="default",state="waiting"} 0',
      'wa2ai_account_state{account="sales",state="waiting"} 1',
      'wa2ai_messages_received_total{account="sales"} 1',
      'wa2ai_messages_sent_total{account="sales"} 2',
      'wa2ai_turns_total{account="sales",route="r1",state="answered",reason=""} 1',
      'wa2ai_turns_total{account="sales",route="r1",state="dead",reason="AGENT_TIMEOUT"} 1',
      'wa2ai_turns_total{account="default",route="",state="ignored",reason="no-route"} 1',
      'wa2ai_agent_turn_seconds_bucket{le="0.5",route="r1",state="answered"} 0',
      'wa2ai_agent_turn_seconds_bucket{le="1",route="r1",state="answered"} 1',
      'wa2ai_agent_turn_seconds_count{route="r1",state="dead"} 1',
    ]) {
      expect(lines).toContain(line);
    }
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).toContain('process_resident_memory_bytes');
  });

  it('has at most 100 series per label, whatever the number of routes and accounts', async () => {
    for (let n = 0; n < 300; n++) {
      api.metrics.observeTurn({ state: 'answered', agentMs: 1, routeId: `r${n}` }, `account${n}`);
    }
    const { text } = await api.call('GET', '/metrics');
    const turns = text.split('\n').filter((line) => line.startsWith('wa2ai_turns_total{'));
    expect(turns).toHaveLength(101);
    expect(turns).toContain(
      'wa2ai_turns_total{account="other",route="other",state="answered",reason=""} 200',
    );
  });

  it('shows an outage of the database, and recovers', async () => {
    api.messageLog.failure = new Error('away');
    const away = await api.call('GET', '/metrics');
    expect(away.status).toBe(200);
    expect(away.text).toContain('\nwa2ai_database_up 0\n');
    for (const name of ['messages_waiting', 'oldest_message_seconds', 'replies_waiting', 'dead_letters']) {
      expect(away.text).not.toMatch(new RegExp(`^wa2ai_${name}\\b`, 'm'));
    }
    api.messageLog.failure = undefined;
    expect((await api.call('GET', '/metrics')).text).toContain('\nwa2ai_database_up 1\n');
  });

  it('shows a hung database within some seconds', async () => {
    const counts = vi.spyOn(api.messageLog, 'openWork').mockReturnValue(new Promise(() => undefined));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const scrape = api.call('GET', '/metrics');
    await expect.poll(() => counts.mock.calls.length).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    const silent = await scrape;
    vi.useRealTimers();
    expect(silent.status).toBe(200);
    expect(silent.text).toContain('\nwa2ai_database_up 0\n');
  });

  it('queries the database once for scrapes close together', async () => {
    const counts = vi.spyOn(api.messageLog, 'openWork');
    await api.call('GET', '/metrics');
    await api.call('GET', '/metrics');
    expect(counts).toHaveBeenCalledTimes(1);
    api.clock.nowMs += 5_000;
    await api.call('GET', '/metrics');
    expect(counts).toHaveBeenCalledTimes(2);
  });

  it('needs the key when one is set', async () => {
    const guarded = await startHttpApi({ apiKey: ADMIN_KEY });
    expect((await guarded.call('GET', '/metrics')).status).toBe(401);
    await guarded.close();
  });
});
