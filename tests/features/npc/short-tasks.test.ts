import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import type { NpcTask } from '../../../router/src/features/npc/npc-tasks.ts';
import { isShortTask, ShortTasks } from '../../../router/src/features/npc/short-tasks.ts';
import { MemoryNpcChainEvents } from '../../doubles/memory-npc-chain-events.ts';
import { MemoryNpcEmotions } from '../../doubles/memory-npc-emotions.ts';
import { MemoryNpcMemories } from '../../doubles/memory-npc-memories.ts';
import { MemoryNpcTasks } from '../../doubles/memory-npc-tasks.ts';
import { MemoryNpcTrades } from '../../doubles/memory-npc-trades.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';
import { recordingLog } from '../../support/quiet-log.ts';

type ShortTaskDeps = ConstructorParameters<typeof ShortTasks>[0];

const offer = { item: 'sword', quantity: 1, price: '1' };
const gift = { trigger: 'gift', intensity: 80 };

function setup() {
  const npcTasks = new MemoryNpcTasks(() => 0);
  const deps = {
    npcTasks,
    emotions: new MemoryNpcEmotions(() => 0),
    memories: new MemoryNpcMemories(() => 0),
    trades: new MemoryNpcTrades(() => 0),
    chainEvents: new MemoryNpcChainEvents(),
    chain: async () => new ScriptedNpcChain(),
    settings: async () => ({ enabled: true, name: 'Guard' }),
    clock: { now: () => 0 },
    log: recordingLog(),
  } satisfies ShortTaskDeps;
  const shortTasks = new ShortTasks(deps);
  const open = async (type: string, params: Record<string, unknown>, taskId = `task_${type}`) =>
    (await npcTasks.open({ taskId, owner: 'key:1', type, params })).task;
  /** Performs a task; resolves with it as it is afterwards. */
  const run = async (type: string, params: Record<string, unknown>) => {
    const task = await open(type, params);
    shortTasks.add(task);
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    return await npcTasks.find(task.taskId);
  };
  return { deps, shortTasks, open, run };
}

describe('isShortTask', () => {
  it.each([
    ['emotion', {}, true],
    ['trade', { action: 'list' }, true],
    ['duel', { action: 'list' }, true],
    ['duel', { wager: '1' }, false],
    ['social', {}, false],
    ['custom:crafting', {}, false],
    ['toString', {}, false],
  ])('%s %o: %s', (type, params, expected) => {
    expect(isShortTask({ type, params })).toBe(expected);
  });
});

describe('ShortTasks', () => {
  it.each([
    ['emotion', gift, { mood: 'gift' }],
    ['memory', { memoryType: 'event', content: { text: 'we met' } }, { memoryId: expect.any(String) }],
    ['trade', offer, { item: 'sword', state: 'open' }],
    ['duel', { action: 'list' }, { duels: [] }],
    ['quest', { action: 'list' }, { quests: [] }],
  ])('performs %s %o', async (type, params, result) => {
    const { deps, run } = setup();
    expect(await run(type, params)).toMatchObject({ status: 'completed', progress: 100, result });
    expect(deps.log.lines.map(({ message }) => message)).toEqual(['npc task ended']);
  });

  it('performs one task at a time, in the order in which they were added', async () => {
    const { deps, shortTasks, open } = setup();
    const calls: string[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const add = deps.emotions.add.bind(deps.emotions);
    deps.emotions.add = async (scope, emotion) => {
      calls.push(emotion.taskId);
      await held;
      return await add(scope, emotion);
    };
    for (const taskId of ['task_1', 'task_2']) shortTasks.add(await open('emotion', gift, taskId));
    await setImmediate();
    expect(calls).toEqual(['task_1']);
    release();
    while ((await deps.npcTasks.find('task_2'))?.status !== 'completed') await setImmediate();
    expect(calls).toEqual(['task_1', 'task_2']);
  });

  it('adds neighbouring memories at the same time, and recalls them only afterwards', async () => {
    const { deps, shortTasks, open } = setup();
    const add = deps.memories.add.bind(deps.memories);
    const adding: string[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    deps.memories.add = async (scope, memory) => {
      adding.push(memory.taskId);
      await held;
      return await add(scope, memory);
    };
    shortTasks.add(await open('emotion', gift, 'task_0'));
    const memory = { memoryType: 'event', content: { text: 'we met' } };
    for (const taskId of ['task_1', 'task_2', 'task_3']) shortTasks.add(await open('memory', memory, taskId));
    shortTasks.add(await open('memory', { action: 'recall' }, 'task_4'));
    while (adding.length === 0) await setImmediate();
    expect(adding).toEqual(['task_1', 'task_2', 'task_3']);
    expect(await deps.npcTasks.find('task_4')).toMatchObject({ status: 'pending' });
    release();
    while ((await deps.npcTasks.find('task_4'))?.status !== 'completed') await setImmediate();
    const recalled = (await deps.npcTasks.find('task_4'))?.result as { memories: unknown[] };
    expect(recalled.memories).toHaveLength(3);
  });

  it('ends the neighbours of a task whose end cannot be stored', async () => {
    const { deps, shortTasks, open } = setup();
    const finish = deps.npcTasks.finish.bind(deps.npcTasks);
    deps.npcTasks.finish = async (taskId, end) => {
      if (taskId === 'task_1') throw new StorageUnavailableError({ sentence: 'down' });
      return await finish(taskId, end);
    };
    for (const taskId of ['task_1', 'task_2']) shortTasks.add(await open('emotion', gift, taskId));
    while ((await deps.npcTasks.find('task_2'))?.status !== 'completed') await setImmediate();
    expect(await deps.npcTasks.find('task_1')).toMatchObject({ status: 'pending' });
  });

  it('changes nothing when a task is performed again after a crash', async () => {
    const { deps, run, shortTasks } = setup();
    const task = await run('trade', offer);
    if (!task) throw new Error('the task is gone');
    shortTasks.add({ ...task, status: 'pending' });
    await shortTasks.stop();
    expect(await deps.npcTasks.find(task.taskId)).toEqual(task);
    expect(await deps.trades.list({ limit: 9 })).toHaveLength(1);
  });

  it('ends with an error of the capability', async () => {
    const task = await setup().run('trade', { action: 'accept', offerId: '9' });
    expect(task).toMatchObject({ status: 'failed', error: { code: -32602, data: { field: 'offerId' } } });
  });

  it('never shows the caller what the code said', async () => {
    const { deps, run } = setup();
    deps.trades.offer = async () => {
      throw new TypeError('secret');
    };
    const task = await run('trade', offer);
    expect(task?.error).toMatchObject({ code: -32603, data: { reason: 'The task could not be performed.' } });
  });

  it('leaves a task stored while the database does not answer', async () => {
    const { deps, run } = setup();
    deps.emotions.add = async () => {
      throw new StorageUnavailableError({ sentence: 'down' });
    };
    expect(await run('emotion', gift)).toMatchObject({ status: 'pending' });
    expect(deps.log.lines.map(({ message }) => message)).toEqual(['npc task not performed, retrying']);
    expect(await run('memory', { action: 'recall' })).toMatchObject({ status: 'completed' });
  });

  it('starts no task after the stop', async () => {
    const { deps, shortTasks, open } = setup();
    shortTasks.add(await open('emotion', gift, 'task_1'));
    shortTasks.add(await open('emotion', gift, 'task_2'));
    await shortTasks.stop();
    shortTasks.add(await open('emotion', gift, 'task_3'));
    const states = await deps.npcTasks.findAll(['task_1', 'task_2', 'task_3']);
    expect(states.map(({ status }) => status)).toEqual(['completed', 'pending', 'pending']);
  });

  it('lets no more than a thousand tasks wait', async () => {
    const { deps, shortTasks, open } = setup();
    const tasks: NpcTask[] = [];
    for (let id = 0; id <= 1_001; id += 1)
      tasks.push(await open('memory', { action: 'recall' }, `task_${id}`));
    for (const task of tasks) shortTasks.add(task);
    while ((await deps.npcTasks.find('task_1000'))?.status !== 'completed') await setImmediate();
    expect(await deps.npcTasks.find('task_1001')).toMatchObject({ status: 'pending' });
  });
});
