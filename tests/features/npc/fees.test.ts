import { describe, expect, it } from 'vitest';
import { feePerGasOf, higherFees } from '../../../router/src/features/npc/viem-npc-chain.ts';

describe('higherFees', () => {
  it('leaves fees that the newest block takes', () => {
    expect(
      higherFees({ maxFeePerGas: 21n, maxPriorityFeePerGas: 1n }, { maxFee: 41n, tip: 1n }),
    ).toBeUndefined();
    expect(higherFees({ gasPrice: 10n }, { gasPrice: 10n })).toBeUndefined();
  });

  it('pays what the market asks, and at least an eighth more', () => {
    expect(higherFees({ maxFeePerGas: 20n, maxPriorityFeePerGas: 1n }, { maxFee: 401n, tip: 1n })).toEqual({
      maxFee: 401n,
      tip: 2n,
    });
    expect(
      higherFees({ maxFeePerGas: 800n, maxPriorityFeePerGas: 80n }, { maxFee: 802n, tip: 0n }),
    ).toBeUndefined();
    expect(higherFees({ gasPrice: 80n }, { gasPrice: 81n })).toEqual({ gasPrice: 91n });
  });

  it('leaves a price on a chain that has a fee market now', () => {
    expect(higherFees({ gasPrice: 1n }, { maxFee: 9n, tip: 1n })).toBeUndefined();
  });
});

it('feePerGasOf is the most of both forms', () => {
  expect([feePerGasOf({ gasPrice: 3n }), feePerGasOf({ maxFee: 5n, tip: 1n })]).toEqual([3n, 5n]);
});
