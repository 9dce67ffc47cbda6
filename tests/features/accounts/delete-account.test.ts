import { describe, expect, it } from 'vitest';
import { AccountNotHeldError, StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { deleteAccount } from '../../../router/src/features/accounts/feature.ts';
import { DirectSteps } from '../../doubles/direct-steps.ts';
import { MemoryDurableTasks } from '../../doubles/memory-durable-tasks.ts';
import { serviceWith } from '../../support/app-with.ts';

function setup({ rows = 1_200, unlink = async () => undefined as undefined } = {}) {
  const calls: string[] = [];
  let left = rows;
  let failures = 0;
  const service = serviceWith({
    accounts: {
      unlink: async (accountId) => {
        calls.push(`unlink ${accountId}`);
        return unlink();
      },
      forget: (accountId) => void calls.push(`forget ${accountId}`),
    },
  });
  const stored = {
    close: async (accountId: string) => {
      calls.push(`close ${accountId}`);
    },
    deleteRows: async (accountId: string, limit: number) => {
      if (failures-- > 0) throw new StorageUnavailableError({ sentence: 'connection lost' });
      calls.push(`delete ${accountId}`);
      const deleted = Math.min(left, limit);
      left -= deleted;
      return deleted;
    },
  };
  const steps = new DirectSteps();
  return {
    calls,
    steps,
    failNextDeletes: (count: number) => {
      failures = count;
    },
    run: () => deleteAccount(service, stored, steps, { accountId: 'shop' }),
    tasks: new MemoryDurableTasks({
      'delete-account': (own, input) => deleteAccount(service, stored, own, input),
    }),
  };
}

describe('deleteAccount', () => {
  it('unlinks the account, closes it, and deletes its rows in batches until none is left', async () => {
    const { run, calls } = setup();
    expect(await run()).toEqual({ deletedRows: 1_200 });
    expect(calls).toEqual(['unlink shop', 'close shop', 'forget shop', ...Array(4).fill('delete shop')]);
  });

  it('deletes an account without an owner', async () => {
    const { run, steps } = setup({
      unlink: async () => {
        throw new AccountNotHeldError('shop');
      },
    });
    await run();
    expect(steps.results.get('log out')).toBe('not connected');
  });

  it('runs once as a durable task that is started twice under one id', async () => {
    const { tasks, calls } = setup({ rows: 10 });
    await tasks.start({ kind: 'delete-account', id: 'delete shop', input: { accountId: 'shop' } });
    await tasks.start({ kind: 'delete-account', id: 'delete shop', input: { accountId: 'shop' } });
    await tasks.ended('delete shop');
    expect(await tasks.status('delete shop')).toEqual({
      kind: 'delete-account',
      state: 'done',
      result: { deletedRows: 10 },
    });
    expect(calls.filter((call) => call === 'unlink shop')).toHaveLength(1);
  });

  it('continues after the last step that ended when it runs again', async () => {
    const { run, calls, failNextDeletes } = setup({ rows: 700 });
    failNextDeletes(1);
    await expect(run()).rejects.toThrow('connection lost');
    expect(await run()).toEqual({ deletedRows: 700 });
    expect(calls.filter((call) => call === 'unlink shop')).toHaveLength(1);
    expect(calls.filter((call) => call === 'close shop')).toHaveLength(1);
  });
});
