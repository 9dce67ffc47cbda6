import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type NewTaskHook,
  PostgresTaskHooks,
  type TaskHooks,
} from '../../../router/src/features/a2a/task-hooks.ts';
import { PostgresServedTasks } from '../../../router/src/features/tasks/postgres-served-tasks.ts';
import type { ServedTasks } from '../../../router/src/features/tasks/served-tasks.ts';
import { MemoryServedTasks } from '../../doubles/memory-served-tasks.ts';
import { MemoryTaskHooks } from '../../doubles/memory-task-hooks.ts';
import { testDatabase } from '../../support/database.ts';

const database = testDatabase();

const adapters: Array<[string, () => { tasks: ServedTasks; hooks: TaskHooks }]> = [
  [
    'memory',
    () => {
      const tasks = new MemoryServedTasks();
      return { tasks, hooks: new MemoryTaskHooks(tasks) };
    },
  ],
  [
    'PostgreSQL',
    () => {
      const postgres = database.open();
      return { tasks: new PostgresServedTasks(postgres), hooks: new PostgresTaskHooks(postgres) };
    },
  ],
];

describe.each(adapters)('hooks of served tasks in %s', (_name, open) => {
  async function setup() {
    const { tasks, hooks } = open();
    const message = { messageId: randomUUID(), text: 'x' };
    const { task } = await tasks.open({ id: randomUUID(), contextId: 'c', owner: 'o', message });
    const hook: NewTaskHook = {
      taskId: task.id,
      id: 'h1',
      url: 'https://example.com/hook',
      token: 'a token',
      authentication: { scheme: 'Bearer', credentials: 'a secret' },
      version: '1.0',
    };
    await hooks.put(hook);
    return { tasks, hooks, hook };
  }

  it('keeps a hook with its secrets, and replaces it without sending again', async () => {
    const { hooks, hook } = await setup();
    await hooks.markSent(hook.taskId, 'h1', 2);
    await hooks.markSent(hook.taskId, 'h1', 1);
    expect(await hooks.get(hook.taskId, 'h1')).toMatchObject({ ...hook, sent: 2 });
    const {
      token: _token,
      authentication: _authentication,
      ...plain
    } = { ...hook, url: 'https://example.com/2' };
    await hooks.put(plain);
    const replaced = await hooks.get(hook.taskId, 'h1');
    expect(replaced).toMatchObject({ ...plain, sent: 2 });
    expect(replaced).not.toHaveProperty('token');
  });

  it('lists and deletes the hooks of a task', async () => {
    const { hooks, hook } = await setup();
    await hooks.put({ ...hook, id: 'h0' });
    expect((await hooks.list(hook.taskId)).map(({ id }) => id)).toEqual(['h0', 'h1']);
    expect(await hooks.delete(hook.taskId, 'h1')).toBe(true);
    expect(await hooks.delete(hook.taskId, 'h1')).toBe(false);
    expect(await hooks.get(hook.taskId, 'h1')).toBeUndefined();
    expect(await hooks.list('none')).toEqual([]);
  });

  it('finds hooks that have not got every update', async () => {
    const { tasks, hooks, hook } = await setup();
    const found = async () =>
      (await hooks.behind(-60_000, 1_000)).filter(({ taskId }) => taskId === hook.taskId);
    expect(await found()).toEqual([]);
    await tasks.update(hook.taskId, { key: 'a', state: 'working' });
    expect(await found()).toMatchObject([{ taskId: hook.taskId, id: 'h1', createdAt: expect.any(Date) }]);
    await hooks.markSent(hook.taskId, 'h1', 1);
    expect(await found()).toEqual([]);
  });
});
