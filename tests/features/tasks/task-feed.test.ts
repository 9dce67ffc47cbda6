import { describe, expect, it } from 'vitest';
import { NodeBus } from '../../../router/src/core/cluster/node-bus.ts';
import { servedTaskChanged, TaskFeed } from '../../../router/src/features/tasks/task-feed.ts';
import { questionChanged } from '../../../router/src/infra/db/stores/postgres-questions.ts';
import { MemoryServedTasks } from '../../doubles/memory-served-tasks.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { quietLog } from '../../support/quiet-log.ts';

/** @param isHeard false: node messages are lost */
async function setup({ isHeard = true } = {}) {
  const clock = new FakeClock();
  const bus = new NodeBus('n1', () => ({ publish: () => undefined }));
  const servedTasks = new MemoryServedTasks(
    () => clock.now(),
    (taskId) => isHeard && bus.broadcast(servedTaskChanged({ taskId })),
  );
  const reads = { count: 0 };
  const counted = {
    get: (id: string) => {
      reads.count += 1;
      return servedTasks.get(id);
    },
    versions: (ids: readonly string[]) => servedTasks.versions(ids),
  };
  const feed = new TaskFeed({ servedTasks: counted, bus, clock, log: quietLog });
  const { task } = await servedTasks.open({
    id: 't1',
    contextId: 'c1',
    owner: 'o',
    message: { messageId: 'm1', text: 'x' },
  });
  const update = (key: string) => servedTasks.update(task.id, { key, state: 'working' });
  return { clock, bus, feed, update, reads, signal: new AbortController().signal };
}

describe('TaskFeed', () => {
  it('returns the task at once when it has newer updates, and waits when it has none', async () => {
    const { feed, update, signal } = await setup();
    await update('a');
    const watch = feed.watch('t1');
    expect((await watch.next(0, signal))?.updates).toHaveLength(1);
    const next = watch.next(1, signal);
    await settle();
    await update('b');
    expect((await next)?.updates).toHaveLength(2);
    watch.close();
  });

  it('reads a change once for everybody who waits', async () => {
    const { feed, update, signal, reads } = await setup();
    const watches = Array.from({ length: 1_000 }, () => feed.watch('t1'));
    const waits = watches.map((watch) => watch.next(0, signal));
    await settle();
    const before = reads.count;
    await update('a');
    await Promise.all(waits);
    expect(reads.count - before).toBe(1);
    for (const watch of watches) watch.close();
  });

  it('finds a change whose node message was lost', async () => {
    const { feed, update, signal, clock } = await setup({ isHeard: false });
    const watch = feed.watch('t1');
    const next = watch.next(0, signal);
    await settle();
    await update('a');
    await clock.advanceMs(5_000);
    expect((await next)?.updates).toHaveLength(1);
    watch.close();
    await settle();
    expect(clock.sleeping).toBe(0);
  });

  it('does not wait for a change that came since the last wait', async () => {
    const { feed, update, bus, signal } = await setup();
    const watch = feed.watch('t1');
    await update('a');
    await watch.change(60_000, signal);
    const wait = watch.change(60_000, signal);
    bus.broadcast(questionChanged({ taskId: 't1' }));
    await wait;
    watch.close();
  });

  it('ends a wait with its limit or its signal', async () => {
    const { feed, clock } = await setup();
    const stopping = new AbortController();
    const watch = feed.watch('t1');
    const limited = watch.change(1_000, stopping.signal);
    await clock.advanceMs(1_000);
    await limited;
    const endless = watch.next(0, stopping.signal);
    await settle();
    stopping.abort(new Error('stopping'));
    await expect(endless).rejects.toThrow('stopping');
    expect(await feed.watch('none').next(0, new AbortController().signal)).toBeUndefined();
  });
});
