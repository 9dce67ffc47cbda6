import { describe, expect, it } from 'vitest';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();

const offer = { peer: 'key:1', item: 'sword', quantity: 3, price: '1000000000000000000001' };

describe('/api/npc/trades', () => {
  it('makes offers of the NPC with the exact total, and lists pages, newest first', async () => {
    expect((await api.call('POST', '/api/npc/trades', offer)).body.data).toMatchObject({
      offerId: '1',
      npc: 'wa2ai',
      maker: 'npc',
      direction: 'sell',
      total: '3000000000000000000003',
      state: 'open',
      expiresAt: '2026-01-03T03:04:05.000Z',
    });
    await api.call('POST', '/api/npc/trades', { ...offer, item: 'ring' });
    const { body } = await api.call('GET', '/api/npc/trades?limit=1');
    expect(body).toMatchObject({ data: [{ item: 'ring' }], next: '2' });
    const rest = await api.call('GET', '/api/npc/trades?limit=1&cursor=2');
    expect(rest.body).toMatchObject({ data: [{ item: 'sword' }] });
    expect(rest.body.next).toBeUndefined();
  });

  it('accepts an offer of a peer once', async () => {
    const terms = { ...offer, maker: 'peer', direction: 'buy', total: '3000000000000000000003' } as const;
    await api.npc.trades.offer({ npc: 'wa2ai', peer: 'key:1' }, { ...terms, expiresAtMs: 9e12 }, 'task_1');
    const accept = () => api.call('POST', '/api/npc/trades/1/accept');
    expect((await accept()).body.data).toMatchObject({ state: 'accepted', endedBy: 'npc' });
    expect(await accept()).toMatchObject({ status: 409, body: { code: 'TRADE_ENDED' } });
  });

  it('withdraws an offer of the NPC, which it cannot accept itself', async () => {
    await api.call('POST', '/api/npc/trades', offer);
    expect((await api.call('POST', '/api/npc/trades/1/accept')).status).toBe(409);
    expect((await api.call('POST', '/api/npc/trades/1/decline')).body.data.state).toBe('withdrawn');
  });

  it('refuses a total of more than 256 bits', async () => {
    const huge = { ...offer, price: String(2n ** 256n - 1n) };
    expect((await api.call('POST', '/api/npc/trades', huge)).body.details).toMatchObject([
      { field: 'price' },
    ]);
  });
});
