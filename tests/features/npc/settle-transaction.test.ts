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

describe('settleTransaction', () => {
  it('believes that its nonce was used elsewhere after three looks', async () => {
    const { chain, settle, isOpen } = await setup({ state: 'superseded' });
    expect([await settle(), await settle()]).toEqual(['waiting', 'waiting']);
    expect(await isOpen()).toBe(true);
    expect(await settle()).toBe('superseded');
    expect(await isOpen()).toBe(false);
    expect(chain.sent).toEqual([]);
  });
});
