import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { NpcTaskFeed } from '../../../router/src/features/npc/npc-task-feed.ts';
import type { NpcTask } from '../../../router/src/features/npc/npc-tasks.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { anNpcTask } from '../../support/npc-tasks.ts';
import { quietLog } from '../../support/quiet-log.ts';

const HEARTBEAT_MS = 15_000;

/** A feed over one stored task; `reads` counts statements, and `read` ends those that wait. */
function setup() {
  const clock = new FakeClock();
  const stored = { task: anNpcTask(), reads: 0, failure: undefined as Error | undefined };
  const read = async () => {
    stored.reads += 1;
    if (stored.failure) throw stored.failure;
    return stored.task;
  };
  const npcTasks = { find: read, findAll: async () => [await read()] };
  const feed = new NpcTaskFeed({ npcTasks, clock, log: quietLog });
  const watch = (taskId = 'task_1') => {
    const seen: number[] = [];
    const events: string[] = [];
    let wake: () => void = () => undefined;
    const end = feed.watch(taskId, {
      onTask: ({ version }: NpcTask) => {
        seen.push(version);
        wake();
      },
      onHeartbeat: () => {
        events.push('heartbeat');
        wake();
      },
      onStop: () => events.push('stop'),
    });
    const next = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    return { seen, events, end, next };
  };
  return { clock, stored, feed, watch };
}

describe('NpcTaskFeed', () => {
  it('reads a change once for all its watchers, and changes during a read once more', async () => {
    const { stored, feed, watch } = setup();
    const [one, two] = [watch(), watch()];
    feed.changed('task_1');
    feed.changed('task_1');
    feed.changed('task_1');
    await two.next();
    await two.next();
    expect(stored.reads).toBe(2);
    expect(one.seen).toEqual([1, 1]);
  });

  it('sends a state that this process stored without reading it', () => {
    const { stored, feed, watch } = setup();
    const { seen } = watch();
    feed.show(anNpcTask({ status: 'completed', version: 7, result: {} }));
    feed.show(anNpcTask({ taskId: 'task_of_nobody', version: 8 }));
    expect(seen).toEqual([7]);
    expect(stored.reads).toBe(0);
  });

  it('reads nothing for tasks that nobody watches', () => {
    const { stored, feed, watch } = setup();
    feed.changed('task_1');
    watch().end();
    feed.changed('task_1');
    expect(stored.reads).toBe(0);
    expect(feed.watched).toBe(0);
  });

  it('finds a change whose notification was lost at the next heartbeat', async () => {
    const { clock, stored, watch } = setup();
    const { seen, events, next } = watch();
    stored.task = anNpcTask({ version: 4 });
    await clock.advanceMs(HEARTBEAT_MS);
    if (events.length === 0) await next();
    expect(seen).toEqual([4]);
    expect(events).toEqual(['heartbeat']);
  });

  it('beats on while the database does not answer', async () => {
    const { clock, stored, watch } = setup();
    stored.failure = new StorageUnavailableError({ sentence: 'down' });
    const { seen, events, next } = watch();
    await clock.advanceMs(HEARTBEAT_MS);
    if (events.length === 0) await next();
    expect(seen).toEqual([]);
    expect(events).toEqual(['heartbeat']);
  });

  it('notifies its watchers when the process stops', () => {
    const { feed, watch } = setup();
    const { events } = watch();
    feed.stop();
    expect(events).toEqual(['stop']);
    expect(feed.watched).toBe(0);
  });
});
