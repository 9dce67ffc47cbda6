import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../support/http-api.ts';
import { aNewRoute } from '../../support/routes.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterEach(() => api.close());

const call = (method: string, body?: unknown, key = ADMIN_KEY) =>
  api.call(method, '/api/settings/npc', body, { 'x-api-key': key });

describe('/api/settings/npc', () => {
  it('shows the default, then what was stored', async () => {
    expect((await call('GET')).body.data).toEqual({
      enabled: true,
      name: 'wa2ai',
      capabilities: ['trade', 'emotion', 'memory'],
    });
    const route = await api.routes.create(aNewRoute());
    const settings = {
      enabled: true,
      name: 'Old Guard',
      routeId: route.id,
      url: 'https://npc.example.com/',
      custom: ['custom:crafting'],
      metadata: { game: 'rpg' },
    };
    expect((await call('PUT', settings)).status).toBe(200);
    expect((await call('GET')).body.data).toEqual({
      ...settings,
      url: 'https://npc.example.com',
      capabilities: ['social', 'trade', 'emotion', 'memory', 'custom:crafting'],
    });
  });

  it.each([
    [{ name: 'a' }, 'enabled'],
    [{ enabled: true, name: ' ' }, 'name'],
    [{ enabled: true, name: 'a', url: 'npc.example.com' }, 'url'],
    [{ enabled: true, name: 'a', custom: ['custom:a'] }, 'custom'],
    [{ enabled: true, name: 'a', routeId: '01900000-0000-7000-8000-000000000001' }, 'routeId'],
    [{ enabled: true, name: 'a', metadata: { x: 'y'.repeat(10_000) } }, 'metadata'],
  ])('refuses %o', async (body, field) => {
    const { status, body: problem } = await call('PUT', body);
    expect(status).toBe(400);
    expect(problem.details[0].field).toBe(field);
  });

  describe('chain', () => {
    const address = `0x${'A'.repeat(40)}`;
    const chain = {
      rpcUrl: 'https://rpc.example.com/v1/a-key',
      chainId: 50_312,
      contracts: { arena: address },
      tokens: [address],
      limits: { wager: '1000' },
    };
    const body = (change: Record<string, unknown> = {}) => ({
      enabled: true,
      name: 'Old Guard',
      chain: { ...chain, ...change },
    });
    const withKey = async () => {
      await api.close();
      api = await startHttpApi({ apiKey: ADMIN_KEY, hasWalletKey: true });
    };

    it('masks the RPC URL, and keeps it when its masked form is sent back', async () => {
      await withKey();
      const stored = await call('PUT', body());
      expect(stored.status).toBe(200);
      expect(stored.body.data.capabilities).toEqual(['duel', 'trade', 'emotion', 'memory']);
      const shown = (await call('GET')).body.data;
      expect(shown.chain).toEqual({ ...chain, rpcUrl: 'https://rpc.example.com/***' });
      const { capabilities: _capabilities, ...same } = shown;
      expect((await call('PUT', { ...same, name: 'New Guard' })).status).toBe(200);
      expect(await api.app.npcSettings()).toMatchObject({
        name: 'New Guard',
        chain: { rpcUrl: chain.rpcUrl },
      });
      const moved = await call('PUT', body({ rpcUrl: 'https://other.example.com/***' }));
      expect(moved.body.details[0].field).toBe('chain.rpcUrl');
    });

    it('needs the key of the wallet', async () => {
      const { status, body: problem } = await call('PUT', body());
      expect([status, problem.details[0].field]).toEqual([400, 'chain']);
      expect(problem.details[0].message).toContain('WA2AI_NPC_WALLET_KEY');
    });

    it.each<[Record<string, unknown>, string]>([
      [{ rpcUrl: 'ws://rpc.example.com' }, 'chain.rpcUrl'],
      [{ rpcUrl: 'http://169.254.169.254/' }, 'chain.rpcUrl'],
      [{ chainId: 0 }, 'chain.chainId'],
      [{ contracts: {} }, 'chain.contracts'],
      [{ contracts: { arena: '0x12' } }, 'chain.contracts.arena'],
      [{ contracts: { quest: address } }, 'chain.limits.reward'],
      [{ contracts: { arena: `0x${'0'.repeat(40)}` } }, 'chain.contracts.arena'],
      [{ tokens: [] }, 'chain.tokens'],
      [{ limits: {} }, 'chain.limits.wager'],
      [{ limits: { wager: '-1' } }, 'chain.limits.wager'],
      [{ confirmations: 101 }, 'chain.confirmations'],
    ])('refuses %o', async (change, field) => {
      await withKey();
      const { status, body: problem } = await call('PUT', body(change));
      expect([status, problem.details?.[0].field]).toEqual([400, field]);
    });
  });

  it('needs the scope admin', async () => {
    const key = await api.addKey({ scopes: ['tasks', 'agents:manage'] });
    expect((await call('GET', undefined, key)).status).toBe(403);
    expect((await call('PUT', { enabled: true, name: 'a' }, key)).status).toBe(403);
    const admin = await api.addKey({ scopes: ['admin'] });
    expect((await call('GET', undefined, admin)).status).toBe(200);
  });
});
