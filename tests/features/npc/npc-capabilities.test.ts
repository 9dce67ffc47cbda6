import { describe, expect, it } from 'vitest';
import { performEmotion, performMemory, performTrade } from '../../../router/src/features/npc/short-tasks.ts';
import { MemoryNpcEmotions } from '../../doubles/memory-npc-emotions.ts';
import { MemoryNpcMemories } from '../../doubles/memory-npc-memories.ts';
import { MemoryNpcTrades } from '../../doubles/memory-npc-trades.ts';

const HALF_LIFE_MS = 3_600_000;

const scope = { npc: 'Guard', peer: 'key:1' };

function setup() {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const deps = {
    emotions: new MemoryNpcEmotions(clock.now),
    memories: new MemoryNpcMemories(clock.now),
    trades: new MemoryNpcTrades(clock.now),
    clock,
  };
  let tasks = 0;
  const task = (params: Record<string, unknown>) => {
    tasks += 1;
    return { taskId: `task_${tasks}`, params };
  };
  return { deps, clock, task };
}

describe('performEmotion', () => {
  it('adds an emotion once for a task, and shows what is felt after a while', async () => {
    const { deps, clock, task } = setup();
    const gift = task({ trigger: 'gift', intensity: 60 });
    await performEmotion(deps, scope, gift);
    expect(await performEmotion(deps, scope, gift)).toEqual({
      success: true,
      emotions: [{ trigger: 'gift', intensity: 60 }],
      mood: 'gift',
    });
    clock.nowMs = HALF_LIFE_MS;
    const shown = await performEmotion(deps, scope, task({ action: 'show' }));
    expect(shown.emotions).toEqual([{ trigger: 'gift', intensity: 30 }]);
    expect(await performEmotion(deps, { ...scope, peer: 'key:2' }, task({ action: 'show' }))).toEqual({
      success: true,
      emotions: [],
    });
  });
});

describe('performMemory', () => {
  it('stores, recalls by words, and forgets', async () => {
    const { deps, task } = setup();
    const content = { text: 'we met at the gate' };
    const stored = await performMemory(deps, scope, task({ memoryType: 'event', content }));
    await performMemory(deps, scope, task({ memoryType: 'event', content: { text: 'rain' }, importance: 9 }));
    const recalled = await performMemory(deps, scope, task({ action: 'recall', query: 'gate' }));
    expect(recalled.memories).toEqual([
      { memoryId: stored.memoryId, memoryType: 'event', content, importance: 50, createdAt: 0 },
    ]);
    const forget = task({ action: 'forget', memoryId: stored.memoryId });
    await performMemory(deps, scope, forget);
    await performMemory(deps, scope, forget);
    const left = await performMemory(deps, scope, task({ action: 'recall' }));
    expect(left.memories).toMatchObject([{ content: { text: 'rain' } }]);
    const again = performMemory(deps, scope, task({ action: 'forget', memoryId: stored.memoryId }));
    await expect(again).rejects.toThrow('There is no such memory.');
  });
});

describe('performTrade', () => {
  it('makes an offer once for a task, with the exact total and an end', async () => {
    const { deps, task } = setup();
    const sell = task({ item: 'sword', quantity: 3, price: '1000000000000000000001', expiresIn: 60 });
    const offer = await performTrade(deps, scope, sell);
    expect(offer).toMatchObject({
      offerId: '1',
      maker: 'peer',
      direction: 'sell',
      total: '3000000000000000000003',
      state: 'open',
      expiresAt: 60_000,
    });
    expect(await performTrade(deps, scope, sell)).toEqual(offer);
    expect((await performTrade(deps, scope, task({ action: 'list' }))).offers).toHaveLength(1);
    const withdrawn = await performTrade(deps, scope, task({ action: 'decline', offerId: '1' }));
    expect(withdrawn.state).toBe('withdrawn');
  });

  it('refuses a total of more than 256 bits', async () => {
    const { deps, task } = setup();
    const huge = task({ item: 'sword', quantity: 2, price: String(2n ** 256n - 1n) });
    await expect(performTrade(deps, scope, huge)).rejects.toThrow('256 bits');
  });
});
