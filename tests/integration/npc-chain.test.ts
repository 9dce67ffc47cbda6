import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type {
  NpcChain,
  NpcChainSettings,
  WalletTransaction,
} from '../../router/src/features/npc/npc-chain.ts';
import type { NpcTask } from '../../router/src/features/npc/npc-tasks.ts';
import {
  type ChainTaskDeps,
  confirmForTask,
  signForTask,
} from '../../router/src/features/npc/perform-chain-task.ts';
import {
  PostgresNpcChainEvents,
  PostgresNpcTransactions,
} from '../../router/src/features/npc/postgres-npc-chain.ts';
import { ChainFollower } from '../../router/src/features/npc/short-tasks.ts';
import { ViemNpcChain } from '../../router/src/features/npc/viem-npc-chain.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { MemoryNpcTasks } from '../doubles/memory-npc-tasks.ts';
import { testDatabase } from '../support/database.ts';
import { type NpcChainBed, npcChainBed, TOKENS } from '../support/npc-chain.ts';
import { anNpcTask, SPENDING } from '../support/npc-tasks.ts';
import { recordingLog } from '../support/quiet-log.ts';

const CONFIRMATIONS = 2;

const database = testDatabase();
let bed: NpcChainBed;
beforeEach(async () => {
  bed = await npcChainBed();
  onTestFinished(() => bed.chain.close());
});

function settingsOf({ chain, arena, quest, token }: NpcChainBed): NpcChainSettings {
  return {
    rpcUrl: `${chain.url}/v3/secret-of-the-rpc-url`,
    chainId: chain.chainId,
    contracts: { arena, quest },
    tokens: [token],
    limits: { wager: '5000', reward: '5000' },
    confirmations: CONFIRMATIONS,
    timeoutMs: 2_000,
  };
}

/** A node of wa2ai: its own connections to the database and to the chain. */
function node(change: Partial<NpcChainSettings> = {}) {
  const postgres = database.open();
  const settings = { ...settingsOf(bed), ...change };
  const chain = new ViemNpcChain({ settings, key: bed.key, transport: new AgentTransport() });
  const transactions = new PostgresNpcTransactions(postgres);
  const chainEvents = new PostgresNpcChainEvents(postgres);
  const npcTasks = new MemoryNpcTasks();
  const log = recordingLog();
  let nowMs = 0;
  // Each pause mines a block, as time does.
  const clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      nowMs += ms;
      await bed.chain.mine();
    },
  };
  const deps: ChainTaskDeps = {
    settings: async () => ({ enabled: true, name: 'Guard', chain: settings }),
    chain: async () => chain,
    transactions,
    npcTasks,
    clock,
    log,
  };
  const follower = new ChainFollower({ chain: deps.chain, chainEvents, transactions, clock, log });
  return { chain, transactions, chainEvents, follower, deps, log, clock };
}

const taskOf = (type: string, params: Record<string, unknown>): NpcTask =>
  anNpcTask({ taskId: `task_${randomBytes(6).toString('hex')}`, type, params });
const duel = (change: Record<string, unknown> = {}) =>
  taskOf('duel', { opponent: bed.opponent, wager: '10', ...change });

const running = new AbortController().signal;
const sign = ({ deps }: { deps: ChainTaskDeps }, task: NpcTask) => signForTask(deps, task, running);
const confirm = ({ deps }: { deps: ChainTaskDeps }, task: NpcTask) => confirmForTask(deps, task, running);
async function perform(on: { deps: ChainTaskDeps }, task: NpcTask) {
  await sign(on, task);
  return await confirm(on, task);
}
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it must be refused'),
    (error: { body?: unknown }) => error.body ?? error,
  );
const balance = () => bed.read('Token', bed.token, 'balanceOf', [bed.wallet]);

describe('a duel and a quest on a chain', () => {
  it('creates a duel with the wager in the contract, and returns its id', async () => {
    const task = duel({ tokenAddress: bed.token.toUpperCase().replace('0X', '0x') });
    const result = await perform(node(), task);
    expect(result).toMatchObject({
      success: true,
      duelId: '1',
      transactionHash: expect.stringMatching(/^0x/),
    });
    expect(result.gasUsed).toBeGreaterThan(21_000);
    expect(await balance()).toBe(TOKENS - 10n);
    expect(await bed.read('Arena', bed.arena, 'duels', [1n])).toEqual([
      expect.stringMatching(new RegExp(bed.wallet, 'i')),
      expect.stringMatching(new RegExp(bed.opponent, 'i')),
      10n,
      expect.stringMatching(new RegExp(bed.token, 'i')),
      false,
    ]);
  });

  it('creates a quest with its description and reward, and returns its id', async () => {
    const params = { questId: 'dragon "slayer"', difficulty: 'hard', reward: '20', timeLimit: 3_600 };
    const result = await perform(node(), taskOf('quest', params));
    expect(result).toMatchObject({ success: true, onChainQuestId: '1' });
    const [metadataUri, reward] = (await bed.read('Quest', bed.quest, 'quests', [1n])) as [string, bigint];
    expect(reward).toBe(20n);
    expect(JSON.parse(decodeURIComponent(metadataUri.replace('data:application/json,', '')))).toEqual({
      questId: 'dragon "slayer"',
      difficulty: 'hard',
      timeLimit: 3_600,
    });
    expect(await balance()).toBe(TOKENS - 20n);
  });

  it('tells no quest id when another transaction of the block could have changed it', async () => {
    const on = node();
    bed.chain.isMining = false;
    const params = { questId: 'q', difficulty: 'easy', reward: '1', timeLimit: 1 };
    const [first, second] = [taskOf('quest', params), taskOf('quest', params)];
    for (const task of [first, second]) {
      await sign(on, task);
      await on.chain.broadcast((await on.transactions.ofTask(task.taskId)) as WalletTransaction);
    }
    expect(await confirm(on, first)).toMatchObject({ onChainQuestId: '1' });
    expect(await confirm(on, second)).not.toHaveProperty('onChainQuestId');
  });

  it('pays a gas price on a chain without a fee market, and a higher one when it must', async () => {
    const on = node();
    bed.chain.hasFeeMarket = false;
    const task = duel();
    const signed = await sign(on, task);
    expect(signed.raw).not.toMatch(/^0x02/);
    bed.chain.baseFee *= 10n;
    expect((await confirm(on, task)).transactionHash).not.toBe(signed.hash);
    expect(await balance()).toBe(TOKENS - 10n);
  });

  it('waits for the confirmations, and tells the progress', async () => {
    const on = node();
    const task = duel();
    const percents: number[] = [];
    on.deps.npcTasks = { progress: async (_taskId, percent) => void percents.push(percent) };
    await perform(on, task);
    expect(percents).toEqual([25, 72]);
  });

  it('refuses a wager above the balance or the allowance with -32010, and sends nothing', async () => {
    const before = bed.chain.callsOf('eth_sendRawTransaction').length;
    expect(await errorOf(sign(node(), duel({ wager: '1001' })))).toMatchObject({
      code: -32010,
      data: { field: 'wager', reason: expect.stringContaining('has 1000 of the token') },
    });
    await bed.write('Token', bed.token, 'approve', [bed.arena, 5n], bed.key);
    const calls = bed.chain.callsOf('eth_sendRawTransaction').length;
    expect(await errorOf(sign(node(), duel()))).toMatchObject({
      code: -32010,
      data: { field: 'wager', reason: expect.stringContaining('may spend 5 of the token') },
    });
    expect(bed.chain.callsOf('eth_sendRawTransaction')).toHaveLength(calls);
    expect(calls).toBe(before + 1);
  });

  it('refuses a call that the wallet cannot pay gas for with -32010', async () => {
    bed.chain.baseFee = 10n ** 18n;
    await bed.chain.mine();
    expect(
      await errorOf(sign(node({ limits: { wager: '5000', feePerGas: `1${'0'.repeat(20)}` } }), duel())),
    ).toMatchObject({
      code: -32010,
      data: { reason: expect.stringContaining('pay for gas') },
    });
  });

  it('refuses a call that the contract reverts with -32011 and its reason', async () => {
    await bed.write('Arena', bed.arena, 'setClosed', [true]);
    expect(await errorOf(sign(node(), duel()))).toEqual({
      code: -32011,
      message: 'Contract execution failed',
      data: { reason: 'The contract refused the call: the arena is closed.' },
    });
  });

  it('fails with the reason when the contract reverts the transaction on the chain', async () => {
    const on = node();
    bed.chain.isMining = false;
    const task = duel();
    const { hash } = await sign(on, task);
    await bed.write('Arena', bed.arena, 'setClosed', [true]);
    expect(await errorOf(confirm(on, task))).toMatchObject({
      code: -32011,
      data: { reason: `The transaction ${hash} was reverted: the arena is closed.` },
    });
    expect(await on.transactions.unsettled(bed.chain.chainId, 0, 10)).toEqual([]);
    expect(await balance()).toBe(TOKENS);
  });

  it('refuses amounts above the limits, other tokens, and a duel with itself', async () => {
    const on = node();
    expect(await errorOf(sign(on, duel({ wager: '5001' })))).toMatchObject({
      code: -32602,
      data: { field: 'wager' },
    });
    expect(await errorOf(sign(on, duel({ tokenAddress: bed.quest })))).toMatchObject({
      code: -32602,
      data: { field: 'tokenAddress' },
    });
    expect(await errorOf(sign(on, duel({ opponent: bed.wallet })))).toMatchObject({
      code: -32602,
      data: { field: 'opponent' },
    });
    const cheap = node({ limits: { wager: '5000', gas: 50_000 } });
    expect(await errorOf(sign(cheap, duel()))).toMatchObject({ code: -32011 });
    const thrifty = node({ limits: { wager: '5000', feePerGas: '5' } });
    expect(await errorOf(sign(thrifty, duel()))).toMatchObject({ code: -32011 });
    // without a limit of the settings: twice this fee is above 200 gwei
    bed.chain.baseFee = 101_000_000_000n;
    await bed.chain.mine();
    expect(await errorOf(sign(on, duel()))).toMatchObject({
      code: -32011,
      data: { reason: expect.stringContaining('fees of the chain are above the limit') },
    });
  });

  it('gives out one sequence of nonces when two nodes use one wallet at once', async () => {
    const nodes = [node(), node()];
    bed.chain.isMining = false;
    const first = await nodes[0]?.chain.pendingNonce();
    const tasks = Array.from({ length: 10 }, () => duel({ wager: '1' }));
    const signed = await Promise.all(tasks.map((task, at) => sign(nodes[at % 2] as never, task)));
    const nonces = signed.map(({ nonce }) => nonce).sort((a, b) => a - b);
    expect(nonces).toEqual(nonces.map((_nonce, at) => (first ?? 0) + at));
    const results = await Promise.all(tasks.map((task, at) => confirm(nodes[at % 2] as never, task)));
    expect(new Set(results.map(({ duelId }) => duelId)).size).toBe(10);
    expect(await balance()).toBe(TOKENS - 10n);
  });

  it('gives a nonce again when a transaction could not be signed', async () => {
    const on = node();
    const given = { chainId: bed.chain.chainId, wallet: bed.wallet, minNonce: 100, spends: SPENDING };
    const broken = on.transactions.addOnce({ ...given, taskId: 'a' }, () => Promise.reject(new Error('no')));
    await expect(broken).rejects.toThrow();
    const signed = async (nonce: number) => ({ hash: `0x${nonce}`, raw: '0x' });
    expect(await on.transactions.addOnce({ ...given, taskId: 'b' }, signed)).toMatchObject({ nonce: 100 });
  });
});

describe('a transaction that was interrupted', () => {
  it('is sent once more with the same bytes by a repeat, and pays once', async () => {
    const task = duel();
    const signed = await sign(node(), task);
    // The process dies here, and another node repeats the task from its beginning.
    const other = node();
    expect(await sign(other, task)).toEqual(signed);
    await other.chain.broadcast(signed);
    const result = await perform(node(), task);
    expect(result).toMatchObject({ transactionHash: signed.hash, duelId: '1' });
    expect(await bed.read('Arena', bed.arena, 'lastDuel')).toBe(1n);
    const raws = bed.chain.callsOf('eth_sendRawTransaction').map(({ params }) => params?.[0]);
    expect(raws.filter((raw) => raw === signed.raw).length).toBeGreaterThan(0);
    expect(await balance()).toBe(TOKENS - 10n);
  });

  it('is repeated although the limits are smaller now', async () => {
    const task = duel();
    const signed = await sign(node(), task);
    const strict = node({ limits: { wager: '1' } });
    expect(await perform(strict, task)).toMatchObject({ transactionHash: signed.hash });
  });

  it('is sent by the follower when its task has ended, so that it does not block the wallet', async () => {
    const on = node();
    const lost = await sign(on, duel());
    const next = duel();
    await sign(on, next);
    // Transactions are looked at when they are two minutes old.
    const unsettled = on.transactions.unsettled.bind(on.transactions);
    on.transactions.unsettled = (chainId, _olderThanMs, limit) => unsettled(chainId, 0, limit);
    await on.follower.sweep();
    expect(await confirm(on, next)).toMatchObject({ success: true });
    expect(await on.chain.stateOf(lost)).toMatchObject({ state: 'executed' });
  });

  it('is sent again after a reorganisation that drops its block, and also when the server forgets it', async () => {
    for (const isForgotten of [false, true]) {
      const on = node();
      const task = duel();
      const signed = await sign(on, task);
      await on.chain.broadcast(signed);
      expect(await on.chain.stateOf(signed)).toEqual({ state: 'included', depth: 0 });
      await bed.chain.mine();
      await bed.chain.reorganise(2, { isForgotten });
      expect(await on.chain.stateOf(signed)).toEqual({ state: 'waiting' });
      expect(await confirm(on, task)).toMatchObject({ transactionHash: signed.hash });
    }
    expect(await balance()).toBe(TOKENS - 20n);
    expect(await bed.read('Arena', bed.arena, 'lastDuel')).toBe(2n);
  });

  it('gets higher fees under its nonce when the chain takes more, and is executed once', async () => {
    const on = node();
    const task = duel();
    const signed = await sign(on, task);
    bed.chain.baseFee *= 10n;
    const result = await confirm(on, task);
    expect(result.transactionHash).not.toBe(signed.hash);
    expect(await on.transactions.ofTask(task.taskId)).toMatchObject({
      nonce: signed.nonce,
      earlierHashes: [signed.hash],
    });
    expect(await bed.read('Arena', bed.arena, 'lastDuel')).toBe(1n);
  });

  it('fails when the wallet has used its nonce elsewhere', async () => {
    const on = node();
    const task = duel();
    const { hash } = await sign(on, task);
    await bed.write('Token', bed.token, 'approve', [bed.arena, 500n], bed.key);
    expect(await errorOf(confirm(on, task))).toMatchObject({
      code: -32011,
      data: { reason: expect.stringContaining(hash) },
    });
  });
});

describe('an RPC server that fails', () => {
  it('ends a task that has signed nothing after a minute, and never one that has', async () => {
    const on = node();
    const task = duel();
    bed.chain.server.misbehaviour = '500';
    expect(await errorOf(sign(on, task))).toMatchObject({
      code: -32603,
      data: { reason: 'The chain did not answer. Nothing was sent.' },
    });
    bed.chain.server.misbehaviour = undefined;
    await sign(on, task);
    bed.chain.server.misbehaviour = 'cut';
    let pauses = 0;
    const { sleep } = on.clock;
    on.clock.sleep = async (ms, signal) => {
      pauses += 1;
      if (pauses === 20) bed.chain.server.misbehaviour = undefined;
      await sleep(ms, signal);
    };
    expect(await confirm(on, task)).toMatchObject({ success: true });
    expect(JSON.stringify(on.log.lines)).not.toContain('secret-of-the-rpc-url');
    expect(JSON.stringify(on.log.lines)).not.toContain(bed.key.slice(2));
  });

  it.each(['wrong-json', 'hang', 'redirect', 'quote'] as const)(
    'is unavailable when it does this: %s',
    async (how) => {
      const on = node({ timeoutMs: 200 });
      bed.chain.server.misbehaviour = how;
      const error = (await errorOf(on.chain.pendingNonce())) as Error;
      expect(error).toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
      expect(error.message).not.toContain('secret-of-the-rpc-url');
      expect(bed.chain.server.followed).toBe(0);
    },
  );

  it('is refused when it is of another chain', async () => {
    const on = node({ chainId: 1 });
    expect(await errorOf(on.chain.pendingNonce())).toMatchObject({
      code: 'CHAIN_SETTINGS',
      message: expect.stringContaining(`The RPC server is of chain ${bed.chain.chainId}`),
    });
    expect(await errorOf(sign(on, duel()))).toMatchObject({ code: -32603 });
    expect(bed.chain.callsOf('eth_sendRawTransaction')).toEqual([]);
  });

  it('is refused when the addresses have no contracts', async () => {
    const on = node({ tokens: [`0x${'1'.repeat(40)}`] });
    expect(
      await errorOf(
        on.chain.prepare({ kind: 'duel', opponent: bed.opponent, wager: 1n, token: `0x${'1'.repeat(40)}` }),
      ),
    ).toMatchObject({ code: 'CHAIN_SETTINGS' });
    expect((await on.chain.report()).problems).toEqual([
      expect.stringContaining('There is no contract at the address of the token'),
    ]);
  });
});

describe('events of the contracts', () => {
  const list = (on: { chain: NpcChain; chainEvents: PostgresNpcChainEvents }) =>
    on.chainEvents.list({ source: on.chain.eventSource, limit: 50 });

  it('are stored once they are deep enough, each once, from the cursor on after a restart', async () => {
    const on = node();
    await on.follower.sweep();
    await bed.write('Arena', bed.arena, 'createDuel', [bed.opponent, 1n, bed.token], bed.key);
    await on.follower.sweep();
    expect(await list(on)).toEqual([]);
    await bed.chain.mine(CONFIRMATIONS);
    await on.follower.sweep();
    await on.follower.sweep();
    expect(await list(on)).toMatchObject([
      { kind: 'duel-created', values: { duelId: '1', creator: bed.wallet, opponent: bed.opponent } },
    ]);
    // While nobody follows, somebody completes a quest of the NPC.
    await bed.write('Quest', bed.quest, 'createQuest', ['data:,', 7n, bed.token], bed.key);
    await bed.write('Quest', bed.quest, 'completeQuest', [1n, '0x01']);
    await bed.chain.mine(CONFIRMATIONS);
    const restarted = node();
    await restarted.follower.sweep();
    expect(await list(restarted)).toMatchObject([
      { kind: 'quest-completed', values: { questId: '1', player: bed.opponent, reward: '7' } },
      { kind: 'duel-created' },
    ]);
    expect(await restarted.chainEvents.cursor(restarted.chain.eventSource)).toBe(
      BigInt(bed.chain.height - CONFIRMATIONS),
    );
  });

  it('of blocks that a reorganisation drops are not stored', async () => {
    const on = node();
    await on.follower.sweep();
    await bed.write('Arena', bed.arena, 'createDuel', [bed.opponent, 1n, bed.token], bed.key);
    await bed.chain.mine(CONFIRMATIONS - 1);
    await on.follower.sweep();
    await bed.chain.reorganise(CONFIRMATIONS, { isForgotten: true });
    await bed.chain.mine(5);
    await on.follower.sweep();
    expect(await list(on)).toEqual([]);
  });

  it('name the task whose transaction they are of, also when two nodes follow', async () => {
    const [on, other] = [node({ startBlock: 0 }), node({ startBlock: 0 })];
    const task = duel();
    await perform(on, task);
    await bed.write('Arena', bed.arena, 'createDuel', [bed.wallet, 0n, bed.token]);
    await bed.chain.mine(CONFIRMATIONS);
    await Promise.all([on.follower.sweep(), other.follower.sweep()]);
    expect(await list(on)).toMatchObject([
      { values: { creator: bed.opponent, opponent: bed.wallet } },
      { values: { creator: bed.wallet }, taskId: task.taskId },
    ]);
  });
});
