import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endFor, stateOf, type TradeOffer, totalOf } from '../../../router/src/features/npc/memories.ts';

const offer: TradeOffer = {
  offerId: '1',
  maker: 'peer',
  direction: 'sell',
  item: 'sword',
  quantity: 2,
  price: '5',
  total: '10',
  expiresAtMs: 1_000,
  createdAtMs: 0,
};

describe('totalOf', () => {
  it('multiplies exactly, also where floating point cannot', () => {
    expect(totalOf(3, '1000000000000000000001')).toBe('3000000000000000000003');
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e15 }),
        fc.bigInt({ min: 0n, max: 2n ** 200n }),
        (count, price) => {
          expect(BigInt(totalOf(count, String(price)) ?? -1)).toBe(BigInt(count) * price);
        },
      ),
    );
  });

  it('refuses more than 256 bits', () => {
    expect(totalOf(1, String(2n ** 256n - 1n))).toBe(String(2n ** 256n - 1n));
    expect(totalOf(2, String(2n ** 256n - 1n))).toBeUndefined();
  });
});

describe('stateOf', () => {
  it('is open until the offer expires or ends', () => {
    expect(stateOf(offer, 999)).toBe('open');
    expect(stateOf(offer, 1_000)).toBe('expired');
    expect(stateOf({ ...offer, end: { kind: 'accepted', atMs: 5 } }, 2_000)).toBe('accepted');
  });
});

describe('endFor', () => {
  it('lets the other side accept or decline, and the maker withdraw', () => {
    expect(endFor(offer, 'accept', 'npc')).toBe('accepted');
    expect(endFor(offer, 'decline', 'npc')).toBe('declined');
    expect(endFor(offer, 'accept', 'peer')).toBe('refused');
    expect(endFor(offer, 'decline', 'peer')).toBe('withdrawn');
  });
});
