import { describe, expect, it } from 'vitest';
import { type ChainEvent, ChainUnavailableError } from '../../../router/src/features/npc/npc-chain.ts';
import { ChainFollower } from '../../../router/src/features/npc/short-tasks.ts';
import { MemoryNpcChainEvents } from '../../doubles/memory-npc-chain-events.ts';
import { MemoryNpcTransactions } from '../../doubles/memory-npc-transactions.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';
import { SPENDING } from '../../support/npc-tasks.ts';
import { recordingLog } from '../../support/quiet-log.ts';

function setup() {
  const chain = new ScriptedNpcChain();
  const chainEvents = new MemoryNpcChainEvents();
  const time = { nowMs: 0 };
  const transactions = new MemoryNpcTransactions(() => time.nowMs);
  const log = recordingLog();
  const current: { chain: ScriptedNpcChain | undefined } = { chain };
  const follower = new ChainFollower({
    chain: async () => current.chain,
    transactions,
    chainEvents,
    clock: { monotonicMs: () => time.nowMs },
    log,
  });
  const stored = () => chainEvents.list({ limit: 99 });
  return { chain, current, chainEvents, transactions, time, log, follower, stored };
}

const eventAt = (blockNumber: bigint): ChainEvent => ({
  kind: 'quest-completed',
  blockNumber,
  transactionHash: `0x${blockNumber}`,
  logIndex: 0,
  values: { questId: '1' },
});

describe('ChainFollower', () => {
  it('begins at the newest block, and continues at the cursor', async () => {
    const { chain, follower, stored } = setup();
    chain.chainEvents = [eventAt(9n), eventAt(10n), eventAt(12n)];
    await follower.sweep();
    await follower.sweep();
    chain.head = 12n;
    await follower.sweep();
    expect(chain.asked).toEqual([
      [10n, 10n],
      [11n, 12n],
    ]);
    expect((await stored()).map(({ blockNumber }) => blockNumber)).toEqual([12n, 10n]);
  });

  it('begins at the block of the settings, and asks for few blocks at a time', async () => {
    const { chain, chainEvents, follower } = setup();
    chain.startBlock = 1n;
    chain.head = 20_000n;
    await follower.sweep();
    expect(chain.asked[0]).toEqual([1n, 500n]);
    expect(chain.asked).toHaveLength(20);
    expect(await chainEvents.cursor('test')).toBe(10_000n);
    await follower.sweep();
    expect(await chainEvents.cursor('test')).toBe(20_000n);
  });

  it('stops when another node has moved the cursor', async () => {
    const { chain, chainEvents, follower, stored } = setup();
    chain.chainEvents = [eventAt(10n)];
    const { cursor } = chainEvents;
    chainEvents.cursor = async (source) => {
      const before = await cursor.call(chainEvents, source);
      await chainEvents.store(source, [], { from: before, to: 50n });
      return before;
    };
    await follower.sweep();
    expect(await stored()).toEqual([]);
  });

  it('ends transactions whose tasks no longer do, once a minute', async () => {
    const { chain, transactions, time, follower } = setup();
    const { chainId, wallet } = chain;
    await transactions.addOnce({ taskId: 't', chainId, wallet, minNonce: 0, spends: SPENDING }, (nonce) =>
      chain.sign({ to: '0x', data: '0x', gas: 1n, fees: { gasPrice: 1n } }, nonce),
    );
    await follower.sweep();
    expect(chain.sent).toEqual([]);
    time.nowMs = 120_000;
    await follower.sweep();
    await follower.sweep();
    expect(chain.sent).toEqual(['0xraw-0-1']);
  });

  it('never rejects, and logs few of many failures', async () => {
    const { chain, current, follower, log } = setup();
    chain.failures = Array.from({ length: 10 }, () => new ChainUnavailableError({ sentence: 'away' }));
    for (let sweep = 0; sweep < 10; sweep++) await follower.sweep();
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(4);
    chain.head = undefined;
    await follower.sweep();
    current.chain = undefined;
    await follower.sweep();
    expect(chain.asked).toEqual([]);
  });
});
