import { describe, expect, it } from 'vitest';
import { HeldLease } from '../../../../router/src/core/cluster/lease-manager.ts';
import { LeaseLostError, StorageUnavailableError } from '../../../../router/src/core/errors.ts';

const SAFE_MS = 1_000;

function setup() {
  const state = { nowMs: 0, renew: async (): Promise<Set<string>> => new Set(['a']) };
  const lost: string[] = [];
  const lease = new HeldLease(
    { accountId: 'a', owner: 'n1', epoch: 1n },
    {
      leases: { renew: () => state.renew() },
      isTakeOver: true,
      safeMs: SAFE_MS,
      askedAtMs: 0,
      monotonicMs: () => state.nowMs,
      onLost: (reason) => lost.push(reason),
    },
  );
  return { lease, state, lost };
}

describe('a held lease', () => {
  it('is valid for its safe time after the last renewal was requested', async () => {
    const { lease, state } = setup();
    state.nowMs = SAFE_MS - 1;
    expect(lease.isHeld()).toBe(true);
    state.nowMs = SAFE_MS;
    expect(lease.isHeld()).toBe(false);
  });

  it('is renewed when it is verified', async () => {
    const { lease, state } = setup();
    state.nowMs = SAFE_MS - 1;
    await lease.verify();
    state.nowMs += SAFE_MS - 1;
    expect(lease.isHeld()).toBe(true);
  });

  it('is lost when it is verified and another node has it', async () => {
    const { lease, state, lost } = setup();
    state.renew = async () => new Set();
    await expect(lease.verify()).rejects.toBeInstanceOf(LeaseLostError);
    expect(lost).toEqual(['another node took the account']);
    expect(lease.isHeld()).toBe(false);
  });

  it('is not usable when its verification took longer than its safe time', async () => {
    const { lease, state } = setup();
    state.renew = async () => {
      state.nowMs += SAFE_MS;
      return new Set(['a']);
    };
    await expect(lease.verify()).rejects.toBeInstanceOf(LeaseLostError);
  });

  it('is not lost when the database does not answer its verification', async () => {
    const { lease, state, lost } = setup();
    state.renew = async () => {
      throw new StorageUnavailableError({ sentence: 'no database' });
    };
    await expect(lease.verify()).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(lost).toEqual([]);
    expect(lease.isHeld()).toBe(true);
  });

  it('reports its loss once', () => {
    const { lease, lost } = setup();
    lease.lose('first');
    lease.lose('second');
    expect(lost).toEqual(['first']);
  });
});
