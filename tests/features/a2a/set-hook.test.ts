import { describe, expect, it } from 'vitest';
import type { TaskStart } from '../../../router/src/core/tasks.ts';
import { refuseHookUrl, setHook } from '../../../router/src/features/a2a/push-updates.ts';
import { MemoryServedTasks } from '../../doubles/memory-served-tasks.ts';
import { MemoryTaskHooks } from '../../doubles/memory-task-hooks.ts';

const config = {
  tenant: '',
  taskId: 't1',
  id: '',
  url: 'https://hooks.example.com/a',
  token: '',
  authentication: undefined,
};

const TRANSPORT = {
  refusalOf: (url: string) =>
    url.includes('10.0.0.1') ? { sentence: 'it is a private address' } : undefined,
};

function setup() {
  const hooks = new MemoryTaskHooks(new MemoryServedTasks());
  const started: TaskStart[] = [];
  const tasks = { start: async (task: TaskStart) => void started.push(task) };
  const set = (given: Parameters<typeof setHook>[2], version: string) =>
    setHook(hooks, tasks, given, version);
  return { set, hooks, started };
}

describe('refuseHookUrl', () => {
  it.each([
    ['ftp://example.com', 'http or https'],
    ['no url', 'http or https'],
    [`https://example.com/${'x'.repeat(2_048)}`, '2048 characters'],
    ['http://10.0.0.1/hook', 'url is not allowed: it is a private address.'],
  ])('refuses %s', (url, sentence) => {
    expect(() => refuseHookUrl(TRANSPORT, url)).toThrow(sentence);
  });
});

describe('setHook', () => {
  it('stores a hook with an id and the version of the caller, and starts it', async () => {
    const { set, hooks, started } = setup();
    const hook = await set({ ...config, token: 'secret' }, '0.3');
    expect(hook).toMatchObject({ taskId: 't1', url: config.url, token: 'secret', version: '0.3' });
    expect(await hooks.list('t1')).toEqual([hook]);
    expect(started).toEqual([
      {
        kind: 'push-updates',
        id: `push-t1-${hook.createdAt.getTime()}-${hook.id}`,
        input: { taskId: 't1', hookId: hook.id },
      },
    ]);
  });

  it('replaces a hook with the same id, and takes no more than ten', async () => {
    const { set, hooks } = setup();
    for (let id = 1; id <= 10; id += 1) await set({ ...config, id: `h${id}` }, '1.0');
    await set({ ...config, id: 'h1', url: 'https://hooks.example.com/b' }, '1.0');
    expect(await hooks.list('t1')).toHaveLength(10);
    await expect(set({ ...config, id: 'h11' }, '1.0')).rejects.toThrow('at most 10');
  });

  it('refuses long texts', async () => {
    const { set } = setup();
    await expect(set({ ...config, token: 'x'.repeat(4_097) }, '1.0')).rejects.toThrow(
      'at most 4096 characters',
    );
  });

  it.each([
    { token: 'a\r\nX-Admin: 1' },
    { token: 'a\u0000' },
    { token: 'caf\u00e9' },
    { authentication: { scheme: 'Bearer', credentials: 'a\nb' } },
    { authentication: { scheme: 'Bearer x', credentials: 'a' } },
    { authentication: { scheme: 'Bearer\r', credentials: 'a' } },
  ])('refuses what no header can have: %j', async (change) => {
    const { set, hooks } = setup();
    await expect(set({ ...config, ...change }, '1.0')).rejects.toThrow('printable ASCII');
    expect(await hooks.list('t1')).toEqual([]);
  });
});
