import { describe, expect, it } from 'vitest';
import type { TransactionState } from '../../../router/src/features/npc/npc-chain.ts';
import { settleTransaction } from '../../../router/src/features/npc/perform-chain-task.ts';
import { MemoryNpcTransactions } from '../../doubles/memory-npc-transactions.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';
import { SPENDING } from '../../support/npc-tasks.ts';
import { recordingLog } from '../../support/quiet-log.ts';

async function setup(...states: TransactionState[]) {
  const chain = new ScriptedNpcChain();
  chain.states = states;
  const transactions = new MemoryNpcTransactions(() => 0);
  const { chainId, wallet } = chain;
  let transaction = await transactions.addOnce(
    { taskId: 't', chainId, wallet, minNonce: 7, spends: SPENDING },
    (nonce) => chain.sign({ to: '0x', data: '0x', gas: 1n, fees: { gasPrice: 1n } }, nonce),
  );
  const looks = new Map<string, number>();
  const settle = async (mayRaise = false) => {
    const settled = await settleTransaction({ transactions, log: recordingLog() }, chain, transaction, {
      mayRaise,
      looks,
    });
    transaction = settled.transaction;
    return settled.now.state;
  };
  const isOpen = async () => (await transactions.unsettled(chainId, 0, 9)).length === 1;
  return { chain, transactions, settle, isOpen };
}

const executed: TransactionState = {
  state: 'executed',
  hash: '0x',
  isSuccess: true,
  gasUsed: 1n,
  blockNumber: 1n,
};

describe('settleTransaction', () => {
  it('sends the same bytes while no block has it, and stores its end', async () => {
    const { chain, settle, isOpen } = await setup(
      { state: 'waiting' },
      { state: 'included', depth: 0 },
      { state: 'waiting' },
      executed,
    );
    expect([await settle(), await settle(), await settle()]).toEqual(['waiting', 'included', 'waiting']);
    expect(chain.sent).toEqual(['0xraw-7-1', '0xraw-7-1']);
    expect(await isOpen()).toBe(true);
    expect(await settle()).toBe('executed');
    expect(await isOpen()).toBe(false);
  });

  it('raises the fees only when it may, and sends the newest version', async () => {
    const { chain, transactions, settle } = await setup({ state: 'waiting' });
    chain.fee = 5;
    await settle();
    await settle(true);
    await settle(true);
    expect(chain.sent).toEqual(['0xraw-7-1', '0xraw-7-5', '0xraw-7-5']);
    expect(await transactions.ofTask('t')).toMatchObject({
      hash: '0xhash-7-5',
      earlierHashes: ['0xhash-7-1'],
    });
  });

  it('believes that its nonce was used elsewhere after three looks', async () => {
    const { chain, settle, isOpen } = await setup({ state: 'superseded' });
    expect([await settle(), await settle()]).toEqual(['waiting', 'waiting']);
    expect(await isOpen()).toBe(true);
    expect(await settle()).toBe('superseded');
    expect(await isOpen()).toBe(false);
    expect(chain.sent).toEqual([]);
  });
});
