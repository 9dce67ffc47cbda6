import { describe, expect, it } from 'vitest';
import { endOffer } from '../../../router/src/features/npc/memories.ts';
import { MemoryNpcTrades } from '../../doubles/memory-npc-trades.ts';

type EndOfferInput = Parameters<typeof endOffer>[1];

const scope = { npc: 'Guard', peer: 'key:1' };

async function anOffer() {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const trades = new MemoryNpcTrades(clock.now);
  const terms = {
    maker: 'peer',
    direction: 'sell',
    item: 'sword',
    quantity: 1,
    price: '5',
    total: '5',
  } as const;
  const { offerId } = await trades.offer(scope, { ...terms, expiresAtMs: 1_000 }, 'task_1');
  const end = (change: Partial<EndOfferInput>) =>
    endOffer({ trades, clock }, { offerId, action: 'accept', by: 'npc', key: 'a', ...change });
  return { clock, end };
}

describe('endOffer', () => {
  it('ends an offer once; a repeat with the same key is no second end', async () => {
    const { end } = await anOffer();
    expect((await end({})).end).toMatchObject({ kind: 'accepted', by: 'npc' });
    expect((await end({})).end).toMatchObject({ kind: 'accepted', key: 'a' });
    await expect(end({ key: 'b', action: 'decline' })).rejects.toThrow('The offer is accepted already.');
  });

  it('refuses the maker to accept, other peers, unknown offers and expired ones', async () => {
    const { clock, end } = await anOffer();
    await expect(end({ by: 'peer' })).rejects.toThrow('Only the other side');
    await expect(end({ scope: { ...scope, peer: 'key:2' } })).rejects.toThrow('There is no such offer.');
    await expect(end({ offerId: '99' })).rejects.toThrow('There is no such offer.');
    clock.nowMs = 1_000;
    await expect(end({})).rejects.toThrow('The offer is expired already.');
  });
});
