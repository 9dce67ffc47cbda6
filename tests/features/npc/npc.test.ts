import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type {
  NpcEmotions,
  NpcMemories,
  NpcScope,
  NpcTrades,
  TradeTerms,
} from '../../../router/src/features/npc/memories.ts';
import type {
  NpcChainEvents,
  NpcTransactions,
  TransactionSpending,
} from '../../../router/src/features/npc/npc-chain.ts';
import type { NpcTasks } from '../../../router/src/features/npc/npc-tasks.ts';
import {
  PostgresNpcChainEvents,
  PostgresNpcTransactions,
} from '../../../router/src/features/npc/postgres-npc-chain.ts';
import {
  PostgresNpcEmotions,
  PostgresNpcMemories,
  PostgresNpcTrades,
} from '../../../router/src/features/npc/postgres-npc-memories.ts';
import { PostgresNpcTasks } from '../../../router/src/features/npc/postgres-npc-tasks.ts';
import { MemoryNpcChainEvents } from '../../doubles/memory-npc-chain-events.ts';
import { MemoryNpcEmotions } from '../../doubles/memory-npc-emotions.ts';
import { MemoryNpcMemories } from '../../doubles/memory-npc-memories.ts';
import { MemoryNpcTasks } from '../../doubles/memory-npc-tasks.ts';
import { MemoryNpcTrades } from '../../doubles/memory-npc-trades.ts';
import { MemoryNpcTransactions } from '../../doubles/memory-npc-transactions.ts';
import { createTestDatabase } from '../../support/database.ts';
import { SPENDING } from '../../support/npc-tasks.ts';

interface NpcStores {
  transactions: NpcTransactions;
  chainEvents: NpcChainEvents;
  tasks: NpcTasks;
  emotions: NpcEmotions;
  memories: NpcMemories;
  trades: NpcTrades;
  close(): Promise<void>;
}

const ADAPTERS: Array<{ name: string; open(): Promise<NpcStores> }> = [
  {
    name: 'memory',
    open: async () => ({
      tasks: new MemoryNpcTasks(),
      emotions: new MemoryNpcEmotions(),
      memories: new MemoryNpcMemories(),
      trades: new MemoryNpcTrades(),
      transactions: new MemoryNpcTransactions(),
      chainEvents: new MemoryNpcChainEvents(),
      close: async () => undefined,
    }),
  },
  {
    name: 'PostgreSQL',
    open: async () => {
      const database = await createTestDatabase();
      const postgres = database.open();
      return {
        tasks: new PostgresNpcTasks(postgres),
        emotions: new PostgresNpcEmotions(postgres),
        memories: new PostgresNpcMemories(postgres),
        trades: new PostgresNpcTrades(postgres),
        transactions: new PostgresNpcTransactions(postgres),
        chainEvents: new PostgresNpcChainEvents(postgres),
        close: () => database.drop(),
      };
    },
  },
];

it('the ledger of trades in PostgreSQL refuses every change of a row', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const postgres = database.open();
  const trades = new PostgresNpcTrades(postgres);
  const terms: TradeTerms = {
    maker: 'peer',
    direction: 'sell',
    item: 'sword',
    quantity: 1,
    price: '5',
    total: '5',
    expiresAtMs: Date.UTC(2030, 0, 1),
  };
  const { offerId } = await trades.offer({ npc: 'Guard', peer: 'admin' }, terms, 'key');
  const ended = await trades.end(offerId, { kind: 'accepted', by: 'npc', key: 'a' });
  for (const statement of [
    sql`UPDATE npc_trade_offer SET price = 1`,
    sql`DELETE FROM npc_trade_offer`,
    sql`TRUNCATE npc_trade_offer CASCADE`,
    sql`UPDATE npc_trade_end SET kind = 'declined'`,
    sql`DELETE FROM npc_trade_end`,
    sql`TRUNCATE npc_trade_end`,
  ]) {
    await expect(postgres.execute(statement)).rejects.toThrow(/never changed or deleted/);
  }
  expect(await trades.find(offerId)).toEqual(ended);
});

const anId = () => `task_${randomBytes(6).toString('hex')}`;

describe.each(ADAPTERS)('the stores of the NPC server in $name', ({ open }) => {
  let stores: NpcStores;
  let owner: string;
  let scope: NpcScope;
  beforeAll(async () => {
    stores = await open();
  });
  afterAll(() => stores.close());
  beforeEach(() => {
    owner = `key:${anId()}`;
    scope = { npc: 'Guard', peer: owner };
  });

  const opened = async (given: { type?: string; idempotencyKey?: string } = {}) => {
    const { type = 'memory', idempotencyKey } = given;
    const task = { taskId: anId(), owner, type, params: { a: 1, b: ['x'] } };
    return await stores.tasks.open({ ...task, ...(idempotencyKey !== undefined && { idempotencyKey }) });
  };

  describe('tasks', () => {
    it('opens a task once for a key of its owner, and refuses the key for another task', async () => {
      const first = await opened({ idempotencyKey: 'k' });
      expect(first).toMatchObject({
        outcome: 'opened',
        task: { status: 'pending', version: 1, attempts: 0 },
      });
      const again = await opened({ idempotencyKey: 'k' });
      expect(again).toEqual({ outcome: 'known', task: first.task });
      expect(await opened({ idempotencyKey: 'k', type: 'trade' })).toMatchObject({ outcome: 'conflict' });
      expect((await opened()).outcome).toBe('opened');
      expect((await opened()).outcome).toBe('opened');
    });

    it('opens one task for a key that many calls use at the same time', async () => {
      const all = await Promise.all(Array.from({ length: 5 }, () => opened({ idempotencyKey: 'k' })));
      expect(new Set(all.map(({ task }) => task.taskId)).size).toBe(1);
      expect(all.filter(({ outcome }) => outcome === 'opened')).toHaveLength(1);
    });

    it('counts a version with each change, and changes nothing after the end', async () => {
      const { taskId } = (await opened()).task;
      expect(await stores.tasks.begin(taskId)).toBe(true);
      await stores.tasks.progress(taskId, 50);
      await stores.tasks.progress(taskId, 40);
      expect(await stores.tasks.find(taskId)).toMatchObject({
        status: 'processing',
        progress: 50,
        version: 3,
      });
      await stores.tasks.countAttempt(taskId);
      expect(await stores.tasks.begin(taskId)).toBe(true);
      const end = { status: 'completed', result: { success: true, text: 'ñ' } } as const;
      expect(await stores.tasks.finish(taskId, end)).toBe(true);
      const error = { code: -32603, message: 'Internal error' } as const;
      expect(await stores.tasks.finish(taskId, { status: 'failed', error })).toBe(false);
      expect(await stores.tasks.begin(taskId)).toBe(false);
      expect(await stores.tasks.find(taskId)).toMatchObject({
        ...end,
        progress: 100,
        version: 5,
        attempts: 1,
      });
      expect((await stores.tasks.find(taskId))?.error).toBeUndefined();
    });

    it('keeps the error of a task that failed', async () => {
      const { taskId } = (await opened()).task;
      const error = { code: -32602, message: 'Invalid params', data: { field: 'a', reason: 'B.' } } as const;
      await stores.tasks.finish(taskId, { status: 'failed', error });
      expect(await stores.tasks.find(taskId)).toMatchObject({ status: 'failed', error });
    });

    it('ends a task once when two calls end it at the same time, and others with it', async () => {
      const tasks = [(await opened()).task, (await opened()).task, (await opened()).task];
      const ends = tasks.flatMap(({ taskId }) =>
        ['first', 'second'].map(async (text) => {
          const isEnd = await stores.tasks.finish(taskId, { status: 'completed', result: { text } });
          return { taskId, text, isEnd };
        }),
      );
      const winners = (await Promise.all(ends)).filter(({ isEnd }) => isEnd);
      expect(winners.map(({ taskId }) => taskId)).toEqual(tasks.map(({ taskId }) => taskId));
      for (const { taskId, text } of winners) {
        expect(await stores.tasks.find(taskId)).toMatchObject({ result: { text }, version: 2 });
      }
    });

    it('lists pages of the owner only, with filters and the count of all', async () => {
      const ids: string[] = [];
      for (const type of ['memory', 'trade', 'memory']) ids.unshift((await opened({ type })).task.taskId);
      const idsOf = ({ tasks }: { tasks: Array<{ taskId: string }> }) => tasks.map(({ taskId }) => taskId);
      const first = await stores.tasks.list([owner], { limit: 2 });
      expect(idsOf(first)).toEqual(ids.slice(0, 2));
      expect(first.total).toBe(3);
      const last = await stores.tasks.list([owner], { limit: 2, before: first.next });
      expect(idsOf(last)).toEqual(ids.slice(2));
      expect(last).toMatchObject({ total: 3 });
      expect(last.next).toBeUndefined();
      expect((await stores.tasks.list([owner], { limit: 9, type: 'memory' })).total).toBe(2);
      expect(await stores.tasks.list([owner], { limit: 9, status: 'failed' })).toEqual({
        tasks: [],
        total: 0,
      });
      expect(await stores.tasks.list(['key:none'], { limit: 9 })).toEqual({ tasks: [], total: 0 });
    });

    it('finds several, and those that nobody has begun', async () => {
      const [one, two] = [(await opened()).task.taskId, (await opened()).task.taskId];
      expect(
        (await stores.tasks.findAll([one, two, 'task_none'])).map(({ taskId }) => taskId).sort(),
      ).toEqual([one, two].sort());
      await stores.tasks.begin(one);
      const open = async (olderThanMs: number) =>
        (await stores.tasks.notBegun(olderThanMs, 1_000)).map(({ taskId }) => taskId);
      expect(await open(0)).toContain(two);
      expect(await open(0)).not.toContain(one);
      expect(await open(60_000)).not.toContain(two);
    });
  });

  describe('emotions', () => {
    it('stores one event for a task, for its NPC and peer', async () => {
      const event = { taskId: anId(), trigger: 'gift', intensity: 12.5, context: { item: 'ring' } };
      await stores.emotions.add(scope, event);
      await stores.emotions.add(scope, event);
      expect(await stores.emotions.events(scope)).toEqual([
        { trigger: 'gift', intensity: 12.5, atMs: expect.any(Number) },
      ]);
      expect(await stores.emotions.events({ ...scope, npc: 'Other' })).toEqual([]);
    });
  });

  describe('memories', () => {
    it('stores many at the same time, once for each task', async () => {
      const ids = [anId(), anId(), anId()];
      const add = (taskId: string, text: string) =>
        stores.memories.add(scope, { taskId, memoryType: 'event', content: { text }, importance: 1, text });
      const known = await add(ids[0] ?? '', 'zero');
      const added = await Promise.all(ids.map((taskId, index) => add(taskId, `number ${index}`)));
      expect(added[0]).toBe(known);
      expect(new Set(added).size).toBe(3);
      expect(await Promise.all(ids.map((taskId) => add(taskId, 'again')))).toEqual(added);
      const found = await stores.memories.recall(scope, undefined, { isMatchOnly: false });
      const texts = new Map(found.map(({ memoryId, content }) => [memoryId, content.text]));
      expect(added.map((id) => texts.get(id))).toEqual(['zero', 'number 1', 'number 2']);
    });

    const add = (text: string, importance = 50, taskId = anId()) =>
      stores.memories.add(scope, { taskId, memoryType: 'event', content: { text }, importance, text });
    const recall = async (query?: string, isMatchOnly = query !== undefined) => {
      const found = await stores.memories.recall(scope, query, { isMatchOnly });
      return found.sort((a, b) => b.relevance - a.relevance);
    };

    it('recalls those with any of the words, the best match with the highest relevance', async () => {
      await add('a dragon at the gate');
      await add('gate gate gate');
      await add('rain');
      const found = await recall('the GATE, tonight?');
      expect(found.map(({ content }) => content.text).sort()).toEqual([
        'a dragon at the gate',
        'gate gate gate',
      ]);
      expect(found.every(({ relevance }) => relevance > 0)).toBe(true);
      expect(await recall("'); DROP | & !:* <->")).toEqual([]);
    });

    it('recalls all without a query, each once, and also those that do not match when asked', async () => {
      await add('gate', 90);
      await add('rain', 10);
      expect(await recall()).toHaveLength(2);
      const found = await recall('gate', false);
      expect(found.map(({ content }) => content.text)).toEqual(['gate', 'rain']);
    });

    it('stores one for a task, and forgets only those of the peer, also twice by one task', async () => {
      const taskId = anId();
      const id = await add('gate', 50, taskId);
      expect(await add('gate', 50, taskId)).toBe(id);
      const forget = (of: NpcScope, by: string) => stores.memories.forget(of, id, by);
      expect(await forget({ ...scope, peer: 'other' }, 'task_f')).toBe(false);
      expect(await forget(scope, 'task_f')).toBe(true);
      expect(await forget(scope, 'task_f')).toBe(true);
      expect(await forget(scope, 'task_g')).toBe(false);
      expect(await recall('gate')).toEqual([]);
      expect(await recall()).toEqual([]);
      expect(await stores.memories.forget(scope, 'no id', 'task_f')).toBe(false);
    });
  });

  describe('trades', () => {
    const terms: TradeTerms = {
      maker: 'peer',
      direction: 'sell',
      item: 'sword',
      quantity: 3,
      price: String(2n ** 200n),
      total: String(3n * 2n ** 200n),
      currency: '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d',
      expiresAtMs: Date.UTC(2030, 0, 1),
    };

    it('stores an offer once for a key, with exact amounts', async () => {
      const key = anId();
      const offer = await stores.trades.offer(scope, terms, key);
      expect(offer).toMatchObject({ ...scope, ...terms });
      expect(await stores.trades.offer(scope, { ...terms, item: 'ring' }, key)).toEqual(offer);
      expect(await stores.trades.find(offer.offerId)).toEqual(offer);
      expect(await stores.trades.find('none')).toBeUndefined();
    });

    it('ends an offer once, for the side that is first', async () => {
      const { offerId } = await stores.trades.offer(scope, terms, anId());
      const [a, b] = await Promise.all([
        stores.trades.end(offerId, { kind: 'accepted', by: 'npc', key: 'a' }),
        stores.trades.end(offerId, { kind: 'withdrawn', by: 'peer', key: 'b' }),
      ]);
      expect(a?.end).toEqual(b?.end);
      expect((await stores.trades.end(offerId, { kind: 'expired' }))?.end).toEqual(a?.end);
      expect(await stores.trades.end('99999999', { kind: 'expired' })).toBeUndefined();
    });

    it('lists newest first, in pages, of all or of one peer', async () => {
      const ids: string[] = [];
      for (const _each of [1, 2, 3]) ids.unshift((await stores.trades.offer(scope, terms, anId())).offerId);
      const idsOf = (offers: Array<{ offerId: string }>) => offers.map(({ offerId }) => offerId);
      expect(idsOf(await stores.trades.list({ scope, limit: 2 }))).toEqual(ids.slice(0, 2));
      expect(idsOf(await stores.trades.list({ scope, limit: 2, before: ids[1] }))).toEqual(ids.slice(2));
      expect(idsOf(await stores.trades.list({ limit: 3 }))).toEqual(ids);
    });
  });

  describe('transactions', () => {
    const chainId = 50_312;
    const signed = (name: string) => async (nonce: number) => ({
      hash: `0x${name}${nonce}`,
      raw: `0xr${nonce}`,
    });
    const add = (minNonce: number, wallet = owner, taskId = anId()) =>
      stores.transactions.addOnce({ taskId, chainId, wallet, minNonce, spends: SPENDING }, signed(taskId));

    it('gives out each nonce once, without a gap, to many at a time', async () => {
      const all = await Promise.all(Array.from({ length: 12 }, () => add(5)));
      expect(all.map(({ nonce }) => nonce).sort((a, b) => a - b)).toEqual([
        5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
      ]);
      expect((await add(0)).nonce).toBe(0);
      expect((await add(20)).nonce).toBe(20);
      expect((await add(5)).nonce).toBe(17);
      expect((await add(5, `${owner}2`)).nonce).toBe(5);
    });

    it('stores one for a task, and gives a nonce again that could not be signed', async () => {
      const first = await add(5);
      expect(first).toMatchObject({ wallet: owner, chainId, nonce: 5, raw: '0xr5', earlierHashes: [] });
      expect(await add(9, owner, first.taskId)).toEqual(first);
      expect(await stores.transactions.ofTask(first.taskId)).toEqual(first);
      expect(await stores.transactions.ofTask('task_none')).toBeUndefined();
      const given = { taskId: anId(), chainId, wallet: owner, minNonce: 5, spends: SPENDING };
      const failing = stores.transactions.addOnce(given, () => Promise.reject(new Error('no key')));
      await expect(failing).rejects.toThrow();
      expect((await add(5)).nonce).toBe(6);
    });

    it('says what an owner has spent before, by type, to one transaction after the other', async () => {
      const wallet = anId();
      const large = 2n ** 200n;
      const spent: Array<[bigint, bigint]> = [];
      const spend = (spends: TransactionSpending, taskId = anId()) =>
        stores.transactions.addOnce({ taskId, chainId, wallet, minNonce: 0, spends }, (nonce, before) => {
          spent.push([before.amount, before.gas]);
          return signed(taskId)(nonce);
        });
      const duel = { owner, type: 'duel' as const, amount: large, gas: 7n };
      const once = anId();
      await spend(duel, once);
      await spend(duel, once);
      await spend({ ...duel, type: 'quest', amount: 5n });
      await spend({ ...duel, owner: `${owner}2` });
      await stores.transactions.settle(once, 'reverted');
      await Promise.all([spend(duel), spend(duel)]);
      expect(spent).toEqual([
        [0n, 0n],
        [0n, 7n],
        [0n, 0n],
        [large, 14n],
        [2n * large, 21n],
      ]);
    });

    it('replaces the newest version only, until the end', async () => {
      const { taskId, hash } = await add(5);
      const replace = (replaced: string, name: string) =>
        stores.transactions.replace(taskId, replaced, { hash: name, raw: `raw ${name}` });
      expect(await replace(hash, 'b')).toMatchObject({
        hash: 'b',
        raw: 'raw b',
        earlierHashes: [hash],
        nonce: 5,
      });
      expect(await replace(hash, 'c')).toMatchObject({ hash: 'b' });
      expect(await replace('b', 'd')).toMatchObject({ hash: 'd', earlierHashes: [hash, 'b'] });
      await stores.transactions.settle(taskId, 'succeeded');
      expect(await replace('d', 'e')).toMatchObject({ hash: 'd' });
    });

    it('lists those that have not ended, the smallest nonces first', async () => {
      const wallet = owner;
      const [a, b, c] = [await add(7), await add(5), await add(5)];
      await stores.transactions.settle(c.taskId, 'reverted');
      const open = await stores.transactions.unsettled(chainId, 0, 1_000);
      expect(open.filter((each) => each.wallet === wallet).map(({ taskId }) => taskId)).toEqual([
        b.taskId,
        a.taskId,
      ]);
      expect(await stores.transactions.unsettled(chainId, 60_000, 1_000)).toEqual([]);
      expect(await stores.transactions.unsettled(1, 0, 1_000)).toEqual([]);
    });
  });

  describe('chain events', () => {
    const event = (logIndex: number, kind: 'duel-created' | 'quest-completed' = 'duel-created') => ({
      kind,
      blockNumber: 2n ** 53n + 1n,
      transactionHash: '0xh',
      logIndex,
      values: { duelId: String(2n ** 200n) },
    });

    it('are stored with the cursor, each once', async () => {
      const source = owner;
      expect(await stores.chainEvents.cursor(source)).toBeUndefined();
      expect(await stores.chainEvents.store(source, [event(0)], { from: undefined, to: 4n })).toBe(true);
      expect(await stores.chainEvents.store(source, [event(9)], { from: undefined, to: 5n })).toBe(false);
      expect(await stores.chainEvents.store(source, [event(9)], { from: 3n, to: 5n })).toBe(false);
      const next = [event(0), event(1, 'quest-completed')];
      expect(await stores.chainEvents.store(source, next, { from: 4n, to: 6n })).toBe(true);
      expect(await stores.chainEvents.cursor(source)).toBe(6n);
      const all = await stores.chainEvents.list({ source, limit: 9 });
      expect(all).toMatchObject([event(1, 'quest-completed'), event(0)]);
      expect(await stores.chainEvents.list({ source, kind: 'duel-created', limit: 9 })).toEqual([all[1]]);
      expect(await stores.chainEvents.list({ source, before: all[0]?.id, limit: 9 })).toEqual([all[1]]);
      expect(await stores.chainEvents.list({ source, limit: 1 })).toEqual([all[0]]);
    });

    it('are stored by one of two nodes that read the same blocks', async () => {
      await stores.chainEvents.store(owner, [], { from: undefined, to: 1n });
      const both = [1, 2].map(() => stores.chainEvents.store(owner, [event(0)], { from: 1n, to: 2n }));
      expect((await Promise.all(both)).sort()).toEqual([false, true]);
      expect(await stores.chainEvents.list({ source: owner, limit: 9 })).toHaveLength(1);
    });
  });
});
