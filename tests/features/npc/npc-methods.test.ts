import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../router/src/core/access/caller.ts';
import type { ApiKey } from '../../../router/src/core/ports/api-key-store.ts';
import { callNpcMethod, ownerOf, ownersOf } from '../../../router/src/features/npc/npc-server.ts';
import { MemoryNpcTasks } from '../../doubles/memory-npc-tasks.ts';
import { MemoryRouteStore } from '../../doubles/memory-route-store.ts';
import { appWith } from '../../support/app-with.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { aNewRoute } from '../../support/routes.ts';

const aKey = (change: Partial<ApiKey> = {}): Caller => ({
  kind: 'key',
  key: {
    id: 'a1',
    name: 'test',
    scopes: ['tasks', 'messages:send'],
    limits: { perMinute: 100, perSecond: 10 },
    createdAt: new Date(0),
    ...change,
  },
});

async function setup() {
  const routes = new MemoryRouteStore();
  const { id: routeId } = await routes.create(aNewRoute());
  let ids = 0;
  const app = appWith({
    npcTasks: new MemoryNpcTasks(() => 1_000),
    tasks: { start: async () => undefined },
    shortTasks: { add: () => undefined },
    mintTaskId: () => {
      ids += 1;
      return `task_${ids}`;
    },
    npcSettings: async () => ({ enabled: true, name: 'Guard', routeId, custom: ['custom:crafting'] }),
    routes,
    aliasesOf: async (_accountId: string, channelId: string) =>
      channelId === '111@lid' ? ['5493777239922'] : [],
    log: quietLog,
  });
  const call = (
    method: string,
    params: Record<string, unknown> = {},
    {
      caller = aKey(),
      idempotencyKey,
      index = 0,
    }: { caller?: Caller; idempotencyKey?: string; index?: number } = {},
  ) =>
    callNpcMethod(
      app,
      { method, params, index },
      { caller, ...(idempotencyKey !== undefined && { idempotencyKey }) },
    );
  /** `code field` of the error. */
  const refusal = async (...given: Parameters<typeof call>) =>
    await call(...given).then(
      () => 'none',
      ({ body }) => `${body.code} ${body.data?.field}`,
    );
  return { call, refusal, routeId };
}
const recall = { type: 'memory', params: { action: 'recall' } };
const greet = (to?: string) => ({ type: 'social', params: { action: 'greet', ...(to && { to }) } });

describe('callNpcMethod', () => {
  it('opens a task and shows it to its owner only', async () => {
    const { call, refusal } = await setup();
    expect(await call('task.open', recall)).toEqual({
      taskId: 'task_1',
      status: 'pending',
      estimatedDuration: 1_000,
    });
    expect(await call('task.status', { taskId: 'task_1' })).toMatchObject({
      type: 'memory',
      status: 'pending',
    });
    const other = { caller: aKey({ id: 'b2' }) };
    expect(await refusal('task.status', { taskId: 'task_1' }, other)).toBe('-32602 taskId');
    expect(await call('task.list', {}, other)).toEqual({ tasks: [], totalTasks: 0 });
    expect(ownerOf({ kind: 'loopback' })).toBe('admin');
    const ofUser = (name: string, role: 'owner' | 'operator'): Caller => ({
      kind: 'session',
      session: { id: 's', user: { name, role } },
    });
    expect(ownerOf(ofUser('Ana', 'operator'))).toBe('user:ana');
    // Tasks that users opened before each had its own.
    expect(ownersOf(ofUser('eva', 'owner'))).toEqual(['user:eva', 'admin']);
    expect(ownersOf(ofUser('ana', 'operator'))).toEqual(['user:ana']);
    expect(ownersOf(aKey({ scopes: ['admin'] }))).toEqual(['key:a1']);
  });

  it('opens each call of a repeated batch once', async () => {
    const { call } = await setup();
    const ids = async (index: number) =>
      (await call('task.open', recall, { idempotencyKey: 'k', index })).taskId;
    expect([await ids(0), await ids(1)]).toEqual(['task_1', 'task_2']);
    expect([await ids(0), await ids(1)]).toEqual(['task_1', 'task_2']);
  });

  it('lists pages, newest first, with filters', async () => {
    const { call } = await setup();
    for (let count = 0; count < 3; count += 1) await call('task.open', recall);
    const first = await call('task.list', { limit: 2 });
    expect(first).toMatchObject({ tasks: [{ taskId: 'task_3' }, { taskId: 'task_2' }], totalTasks: 3 });
    expect(await call('task.list', { limit: 2, cursor: first.nextCursor })).toEqual({
      tasks: [expect.objectContaining({ taskId: 'task_1' })],
      totalTasks: 3,
    });
    expect(await call('task.list', { status: 'completed' })).toEqual({ tasks: [], totalTasks: 0 });
  });

  it.each([
    ['task.cancel', {}, '-32601 method'],
    ['task.open', {}, '-32602 type'],
    ['task.open', { type: 'memory', params: [] }, '-32602 params'],
    ['task.open', { type: 'duel', params: {} }, '-32602 type'],
    ['task.status', {}, '-32602 taskId'],
    ['task.status', { taskId: 'task_9' }, '-32602 taskId'],
    ['task.list', { limit: 0 }, '-32602 limit'],
    ['task.list', { cursor: 'x' }, '-32602 cursor'],
    ['task.list', { status: 'open' }, '-32602 status'],
  ])('refuses %s %o with %s', async (method, params, expected) => {
    const { refusal } = await setup();
    expect(await refusal(method, params)).toBe(expected);
  });

  it('keeps the restrictions of keys', async () => {
    const { refusal, routeId } = await setup();
    const as = (change: Partial<ApiKey>) => ({ caller: aKey(change) });
    expect(await refusal('task.open', greet('5493777239922'), as({ scopes: ['tasks'] }))).toBe('-32001 to');
    expect(await refusal('task.open', greet(), as({ scopes: ['tasks'] }))).toBe('none');
    const chats = as({ chats: ['5493777239922'] });
    expect(await refusal('task.open', greet('5491111111111'), chats)).toBe('-32001 to');
    expect(await refusal('task.open', greet('111@lid'), chats)).toBe('none');
    expect(await refusal('task.open', greet(), as({ routes: ['other'] }))).toBe('-32001 type');
    expect(await refusal('task.open', greet(), as({ routes: [routeId] }))).toBe('none');
    expect(await refusal('task.open', recall, as({ routes: ['other'] }))).toBe('none');
  });
});
