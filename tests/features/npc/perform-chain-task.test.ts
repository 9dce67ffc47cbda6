import { describe, expect, it } from 'vitest';
import { type NpcError, RPC } from '../../../router/src/features/npc/json-rpc.ts';
import {
  ChainSettingsError,
  ChainUnavailableError,
  type TransactionState,
} from '../../../router/src/features/npc/npc-chain.ts';
import {
  type ChainTaskDeps,
  confirmForTask,
  signForTask,
} from '../../../router/src/features/npc/perform-chain-task.ts';
import { MemoryNpcTasks } from '../../doubles/memory-npc-tasks.ts';
import { MemoryNpcTransactions } from '../../doubles/memory-npc-transactions.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';
import { anNpcTask } from '../../support/npc-tasks.ts';
import { recordingLog } from '../../support/quiet-log.ts';

const token = `0x${'1'.repeat(40)}`;
const task = anNpcTask({ type: 'duel', params: { opponent: `0x${'2'.repeat(40)}`, wager: '5' } });
const settings = {
  rpcUrl: 'http://rpc.test',
  chainId: 31_337,
  contracts: { arena: token },
  tokens: [token],
  limits: { wager: '5' },
};

function setup(...states: TransactionState[]) {
  const chain = new ScriptedNpcChain();
  if (states.length > 0) chain.states = states;
  const sleeps: number[] = [];
  const log = recordingLog();
  let nowMs = 0;
  let storedAtMs = 0;
  const current: { chain: ScriptedNpcChain | undefined } = { chain };
  const stopping = new AbortController();
  const deps: ChainTaskDeps = {
    settings: async () => ({ enabled: true, name: 'Guard', chain: settings }),
    chain: async () => current.chain,
    transactions: new MemoryNpcTransactions(() => storedAtMs),
    npcTasks: new MemoryNpcTasks(),
    clock: {
      now: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: async (ms, signal) => {
        signal?.throwIfAborted();
        sleeps.push(ms);
        nowMs += ms;
      },
    },
    log,
  };
  const sign = (given = task) => signForTask(deps, given, stopping.signal);
  const confirm = () => confirmForTask(deps, task, stopping.signal);
  const startOfDay = () => {
    storedAtMs += 86_400_000;
  };
  return { chain, deps, current, sleeps, log, stopping, sign, confirm, startOfDay };
}

const executed: TransactionState = {
  state: 'executed',
  hash: '0xh',
  isSuccess: true,
  gasUsed: 90_000n,
  blockNumber: 12n,
  createdId: '3',
};
const bodyOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: NpcError) => error.body,
  );

describe('signForTask', () => {
  it('spends for a caller at most the limits of a task times perDay in 24 hours', async () => {
    const { deps, sign, startOfDay } = setup();
    const another = (taskId: string, change = {}) => sign({ ...task, taskId, ...change });
    for (let count = 1; count <= 20; count += 1) await another(`task_${count}`);
    const over = await bodyOf(another('over'));
    expect(over).toMatchObject({
      code: RPC.insufficientFunds,
      data: { reason: expect.stringContaining('perDay') },
    });
    expect(await deps.transactions.ofTask('over')).toBeUndefined();
    // a repeat spends nothing, other callers have their own sum, and a task of nothing needs gas only
    expect(await another('task_1')).toMatchObject({ nonce: 7 });
    expect(await another('of another caller', { owner: 'key:2' })).toMatchObject({ nonce: 27 });
    expect(await another('of nothing', { params: { ...task.params, wager: '0' } })).toMatchObject({
      nonce: 28,
    });
    startOfDay();
    expect(await another('over')).toMatchObject({ nonce: 29 });
  });

  it('uses for a caller at most the gas of perDay tasks in 24 hours', async () => {
    const { chain, sign } = setup();
    chain.gas = 999_999n;
    const free = { ...task, params: { ...task.params, wager: '0' } };
    for (let count = 1; count <= 20; count += 1) await sign({ ...free, taskId: `task_${count}` });
    expect(await bodyOf(sign({ ...free, taskId: 'over' }))).toMatchObject({ code: RPC.insufficientFunds });
  });

  it('waits for a chain that does not answer, for a minute at most', async () => {
    const { chain, sign, sleeps } = setup();
    chain.failures = [
      new ChainUnavailableError({ sentence: 'away' }),
      new ChainUnavailableError({ sentence: 'away' }),
    ];
    expect(await sign()).toMatchObject({ nonce: 7 });
    expect(sleeps).toHaveLength(2);
    const other = { ...task, taskId: 'other' };
    chain.failures = Array.from({ length: 100 }, () => new ChainUnavailableError({ sentence: 'away' }));
    expect(await bodyOf(sign(other))).toMatchObject({ code: RPC.internal });
    expect(sleeps.length).toBeLessThan(40);
  });

  it('ends at once when the settings are wrong, or there are none', async () => {
    const { chain, current, sign } = setup();
    chain.refusal = new ChainSettingsError({ sentence: 'the chain is another one' });
    expect(await bodyOf(sign())).toMatchObject({ code: RPC.internal });
    current.chain = undefined;
    expect(await bodyOf(sign())).toMatchObject({ code: RPC.internal });
  });
});

describe('confirmForTask', () => {
  it('returns what was executed', async () => {
    const { sign, confirm } = setup({ state: 'waiting' }, { state: 'included', depth: 1 }, executed);
    await sign();
    expect(await confirm()).toEqual({
      success: true,
      transactionHash: '0xh',
      gasUsed: 90_000,
      blockNumber: 12,
      duelId: '3',
    });
  });

  it('waits without an end for a chain that does not answer or is another one, with longer pauses', async () => {
    const { chain, sign, confirm, sleeps, log } = setup({ state: 'waiting' }, executed);
    await sign();
    chain.failures = Array.from({ length: 50 }, () => new ChainUnavailableError({ sentence: 'away' }));
    expect(await confirm()).toMatchObject({ success: true });
    expect(Math.max(...sleeps)).toBe(30_000);
    const warned = log.lines.filter(({ level }) => level === 'warn');
    expect(warned.length).toBeGreaterThan(0);
    expect(warned.length).toBeLessThan(50);
  });

  it('ends when the process stops', async () => {
    const { sign, confirm, stopping } = setup({ state: 'waiting' });
    await sign();
    stopping.abort(new Error('stopping'));
    await expect(confirm()).rejects.toThrow('stopping');
  });

  it('fails without a stored transaction', async () => {
    expect(await bodyOf(setup().confirm())).toMatchObject({ code: RPC.internal });
  });
});
