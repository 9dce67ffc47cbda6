import { describe, expect, it } from 'vitest';
import type { TaskStart } from '../../../router/src/core/tasks.ts';
import { NpcError } from '../../../router/src/features/npc/json-rpc.ts';
import type { NpcTask } from '../../../router/src/features/npc/npc-tasks.ts';
import { checkedTask, openNpcTask, openNpcTasks } from '../../../router/src/features/npc/open-npc-task.ts';
import { MemoryNpcTasks } from '../../doubles/memory-npc-tasks.ts';
import { recordingLog } from '../../support/quiet-log.ts';

const settings = { enabled: true, name: 'Guard', routeId: '01900000-0000-7000-8000-000000000001' };

/** `data` of the error that a check throws. */
function refusal(type: string, params: Record<string, unknown>) {
  try {
    checkedTask(settings, { type, params });
  } catch (error) {
    if (error instanceof NpcError) return error.body;
    throw error;
  }
  return undefined;
}

describe('checkedTask', () => {
  it('returns the parameters in the types of the specification', () => {
    const params = { item: ' sword ', quantity: '2', price: 1000 };
    expect(checkedTask(settings, { type: 'trade', params }).params).toEqual({
      item: 'sword',
      quantity: 2,
      price: '1000',
    });
    const social = { action: 'greet', to: '+54 9 3777 239922' };
    expect(checkedTask(settings, { type: 'social', params: social }).params.to).toBe('5493777239922');
  });

  it.each([
    ['duel', {}, 'type', /does not offer "duel"/],
    ['trade', { action: 'steal' }, 'action', /accept, decline, list/],
    ['trade', { item: 'sword', price: '1' }, 'quantity', /^quantity is missing/],
    ['emotion', { trigger: 'gift', intensity: 101 }, 'intensity', /from 0 to 100/],
    ['emotion', { trigger: 'gift', intensity: 1, context: 'ring' }, 'context', /must be an object/],
    ['memory', { memoryType: 'event', content: 'text', importance: 5 }, 'content', /must be an object/],
    ['social', { action: 'greet', to: '*' }, 'to', /phone number/],
    ['memory', { action: 'recall', peer: 'x'.repeat(65) }, 'peer', /64 characters/],
  ])('refuses %s %o with the field and the reason', (type, params, field, reason) => {
    expect(refusal(type, params)).toMatchObject({
      code: -32602,
      data: { field, reason: expect.stringMatching(reason) },
    });
  });
});

describe('checkedTask of a duel', () => {
  it('refuses what the chain settings do not allow', () => {
    const token = `0x${'1'.repeat(40)}`;
    const limits = { wager: '5' };
    const chain = { rpcUrl: '', chainId: 1, contracts: { arena: token }, tokens: [token], limits };
    const check = (params: Record<string, unknown>) =>
      checkedTask(
        { ...settings, chain },
        { type: 'duel', params: { opponent: `0x${'2'.repeat(40)}`, ...params } },
      );
    expect(check({ wager: '5' }).params).toMatchObject({ wager: '5' });
    expect(() => check({ wager: '6' })).toThrow('wager must be at most 5.');
    expect(checkedTask({ ...settings, chain }, { type: 'duel', params: { action: 'list' } }).params).toEqual({
      action: 'list',
    });
  });
});

describe('openNpcTask', () => {
  function setup() {
    const started: string[] = [];
    const clock = { nowMs: 0 };
    const npcTasks = new MemoryNpcTasks(() => clock.nowMs);
    let ids = 0;
    const deps = {
      npcTasks,
      tasks: { start: async ({ id }: TaskStart) => void started.push(id) },
      shortTasks: { add: ({ taskId }: NpcTask) => void started.push(`short ${taskId}`) },
      mintTaskId: () => {
        ids += 1;
        return `task_${ids}`;
      },
      log: recordingLog(),
    };
    return { deps, clock, started };
  }
  const task = { owner: 'key:1', type: 'memory', params: { action: 'recall' } };

  it('stores and starts a task, once for an idempotency key', async () => {
    const { deps, started } = setup();
    const keyed = { ...task, idempotencyKey: 'k' };
    expect(await openNpcTask(deps, keyed)).toMatchObject({ taskId: 'task_1', status: 'pending' });
    expect(await openNpcTask(deps, keyed)).toMatchObject({ taskId: 'task_1' });
    expect(started).toEqual(['short task_1']);
    await expect(openNpcTask(deps, { ...keyed, type: 'trade' })).rejects.toThrow('used for another task');
    expect((await openNpcTask(deps, { ...keyed, owner: 'key:2' })).taskId).not.toBe('task_1');
  });

  it('has opened a task that the engine cannot start yet', async () => {
    const { deps } = setup();
    deps.tasks.start = async () => {
      throw new Error('down');
    };
    const social = { ...task, type: 'social' };
    expect(await openNpcTask(deps, social)).toMatchObject({ taskId: 'task_1', status: 'pending' });
    await Promise.resolve();
    expect(deps.log.lines.map(({ message }) => message)).toContain('npc task not started, retrying');
  });

  it('names the tasks that a crash left stored, after a while, and starts short ones', async () => {
    const { deps, clock, started } = setup();
    await deps.npcTasks.open({ ...task, type: 'social', taskId: 'task_lost' });
    await deps.npcTasks.open({ ...task, taskId: 'task_short' });
    expect(await openNpcTasks(deps, 30_000)).toEqual([]);
    clock.nowMs = 60_000;
    expect(await openNpcTasks(deps, 30_000)).toEqual([
      { kind: 'npc-task', id: 'task_lost', input: { taskId: 'task_lost' } },
    ]);
    expect(started).toEqual(['short task_short']);
  });
});
