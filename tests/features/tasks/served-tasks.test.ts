import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PostgresServedTasks } from '../../../router/src/features/tasks/postgres-served-tasks.ts';
import type {
  NewServedTask,
  ServedRequest,
  ServedTasks,
} from '../../../router/src/features/tasks/served-tasks.ts';
import { MemoryServedTasks } from '../../doubles/memory-served-tasks.ts';
import { testDatabase } from '../../support/database.ts';

const request: ServedRequest = {
  skill: 'message-person',
  accountId: 'default',
  to: '5493777239922',
  text: 'Hello',
  deadlineMinutes: 60,
};

function aTask(given: Partial<NewServedTask> = {}): NewServedTask {
  const message = { messageId: randomUUID(), text: 'Hello' };
  return { id: randomUUID(), contextId: 'c1', owner: 'key-1', request, message, ...given };
}

const database = testDatabase();

const adapters: Array<[string, () => ServedTasks]> = [
  ['memory', () => new MemoryServedTasks()],
  ['PostgreSQL', () => new PostgresServedTasks(database.open())],
];

describe.each(adapters)('tasks for programs in %s', (_name, open) => {
  it('opens one task per message of an owner', async () => {
    const tasks = open();
    const given = aTask({ owner: randomUUID() });
    const first = await tasks.open(given);
    expect(first).toMatchObject({
      outcome: 'opened',
      task: { id: given.id, state: 'submitted', request, messages: [given.message], updates: [] },
    });
    expect(await tasks.open({ ...given, id: randomUUID() })).toMatchObject({
      outcome: 'known',
      task: { id: given.id },
    });
    const ofAnother = await tasks.open({ ...given, id: randomUUID(), owner: randomUUID() });
    expect(ofAnother.outcome).toBe('opened');
  });

  it('shows a task to its owner only', async () => {
    const tasks = open();
    const given = aTask({ owner: randomUUID() });
    await tasks.open(given);
    expect((await tasks.get(given.id, [given.owner]))?.id).toBe(given.id);
    expect((await tasks.get(given.id))?.id).toBe(given.id);
    expect(await tasks.get(given.id, ['another'])).toBeUndefined();
    expect(await tasks.get('none')).toBeUndefined();
    expect((await tasks.list(['another'], { limit: 10 })).tasks).toEqual([]);
  });

  it('stores each update once, in order, and none after the end', async () => {
    const tasks = open();
    const { id } = aTask();
    await tasks.open({ ...aTask({ owner: randomUUID() }), id });
    const artifact = { name: 'answer', text: 'Blue', data: { messageId: '7' } };
    expect(await tasks.update(id, { key: 'a', state: 'working', text: 'at work' })).toBe(true);
    expect(await tasks.update(id, { key: 'a', state: 'working' })).toBe(false);
    expect(await tasks.update(id, { key: 'end', state: 'completed', artifact })).toBe(true);
    expect(await tasks.update(id, { key: 'late', state: 'failed' })).toBe(false);
    expect(await tasks.get(id)).toMatchObject({
      state: 'completed',
      updates: [
        { number: 1, key: 'a', state: 'working', text: 'at work' },
        { number: 2, key: 'end', state: 'completed', artifact },
      ],
    });
    expect(await tasks.versions([id, 'none'])).toEqual(new Map([[id, 2]]));
    expect(await tasks.update('none', { key: 'a', state: 'working' })).toBe(false);
  });

  it('stores one of two updates with the same key that come at once', async () => {
    const tasks = open();
    const { task } = await tasks.open(aTask({ owner: randomUUID() }));
    const stored = await Promise.all(
      ['x', 'x', 'y'].map((key) => tasks.update(task.id, { key, state: 'working' })),
    );
    expect(stored.filter(Boolean)).toHaveLength(2);
    expect((await tasks.get(task.id))?.updates.map(({ number }) => number)).toEqual([1, 2]);
  });

  it('gives input to a task that waits for it, and to no other', async () => {
    const tasks = open();
    const { task } = await tasks.open(aTask({ owner: randomUUID(), request: undefined }));
    const message = { messageId: 'm2', text: 'to Ana' };
    expect(await tasks.resume(task.id, message, request)).toBe(false);
    await tasks.update(task.id, { key: 'first', state: 'input-required', text: 'Which skill?' });
    expect(await tasks.resume(task.id, message, request)).toBe(true);
    const resumed = await tasks.get(task.id);
    expect(resumed).toMatchObject({ state: 'submitted', request });
    expect(resumed?.messages.map(({ text }) => text)).toEqual(['Hello', 'to Ana']);
  });

  it('lists the tasks of an owner, last changed first, in pages', async () => {
    const tasks = open();
    const owner = randomUUID();
    const ids: string[] = [];
    for (const contextId of ['a', 'b', 'a']) {
      const { task } = await tasks.open(aTask({ owner, contextId }));
      ids.unshift(task.id);
      await tasks.update(task.id, { key: 'work', state: 'working' });
    }
    const first = await tasks.list([owner], { limit: 2 });
    expect(first.total).toBe(3);
    expect(first.tasks.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const second = await tasks.list([owner], { limit: 2, after: ids[1] });
    expect(second.tasks.map(({ id }) => id)).toEqual(ids.slice(2));
    expect((await tasks.list([owner], { limit: 9, contextId: 'a' })).total).toBe(2);
    expect((await tasks.list([owner], { limit: 9, state: 'completed' })).total).toBe(0);
    expect((await tasks.list([owner], { limit: 9, since: new Date(Date.now() + 60_000) })).tasks).toEqual([]);
  });

  it('finds tasks that wait for longer, and that have something to do', async () => {
    const tasks = open();
    const owner = randomUUID();
    const { task: waiting } = await tasks.open(aTask({ owner }));
    const { task: unclear } = await tasks.open(aTask({ owner, request: undefined }));
    const { task: working } = await tasks.open(aTask({ owner }));
    await tasks.update(working.id, { key: 'work', state: 'working' });
    const found = (await tasks.waiting(-60_000, 1_000)).map(({ id }) => id);
    expect(found).toContain(waiting.id);
    expect(found).not.toContain(unclear.id);
    expect(found).not.toContain(working.id);
    expect((await tasks.waiting(60_000, 1_000)).map(({ id }) => id)).not.toContain(waiting.id);
  });
});
