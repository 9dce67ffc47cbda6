import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { NpcTask } from '../../../../../router/src/core/npc/npc-task.ts';
import type { TaskWatcher } from '../../../../../router/src/infra/faces/npc/npc-task-feed.ts';
import { type StreamResponse, streamTask } from '../../../../../router/src/infra/faces/npc/task-stream.ts';
import { anNpcTask } from '../../../../support/npc-tasks.ts';

/** A stream over a response that the test reads, and a feed that the test drives. */
function setup(task: NpcTask, lastVersion = 0) {
  const events = new EventEmitter();
  const reader = { isSlow: false, isEnded: false, isDestroyed: false, text: '' };
  const response = {
    writeHead: () => response,
    write: (text: string) => {
      reader.text += text;
      return !reader.isSlow;
    },
    end: () => {
      reader.isEnded = true;
      return response;
    },
    destroy: () => {
      reader.isDestroyed = true;
      return response;
    },
    on: (name: string, listener: () => void) => {
      events.on(name, listener);
      return response;
    },
    get writableNeedDrain() {
      return reader.isSlow;
    },
  } as unknown as StreamResponse;
  const feed = { watcher: undefined as TaskWatcher | undefined, refreshed: [] as string[] };
  streamTask(response, {
    task,
    lastVersion,
    feed: {
      watch: (_taskId, watcher) => {
        feed.watcher = watcher;
        return () => {
          feed.watcher = undefined;
        };
      },
      changed: (taskId) => void feed.refreshed.push(taskId),
    },
  });
  const ids = () => [...reader.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  return { reader, feed, ids, emit: (name: string) => events.emit(name) };
}
const running = (version: number) => anNpcTask({ status: 'processing', version });
const completed = (version: number) => anNpcTask({ status: 'completed', version, result: {} });

describe('streamTask', () => {
  it('sends the state, each newer one, and ends with the task', () => {
    const { reader, feed, ids } = setup(running(2));
    expect(feed.refreshed).toEqual(['task_1']);
    const { watcher } = feed;
    for (const task of [running(3), running(3), running(2), completed(4)]) watcher?.onTask(task);
    expect(ids()).toEqual([2, 3, 4]);
    expect(reader.text).toContain('event: task.completed');
    expect(reader.isEnded).toBe(true);
    expect(feed.watcher).toBeUndefined();
  });

  it('continues after the last event of a reader that connects again', () => {
    const { feed, ids } = setup(running(3), 3);
    expect(ids()).toEqual([]);
    feed.watcher?.onTask(running(4));
    expect(ids()).toEqual([4]);
  });

  it('ends at once for a reader that has the end', () => {
    const { reader, ids } = setup(completed(4), 4);
    expect(ids()).toEqual([]);
    expect(reader.isEnded).toBe(true);
  });

  it('keeps the newest state only for a slow reader, and sends it when there is room', () => {
    const { reader, feed, ids, emit } = setup(running(2));
    reader.isSlow = true;
    for (let version = 3; version < 1_000; version += 1) feed.watcher?.onTask(running(version));
    expect(ids()).toEqual([2]);
    reader.isSlow = false;
    emit('drain');
    expect(ids()).toEqual([2, 999]);
  });

  it('disconnects a reader that takes nothing for two heartbeats', () => {
    const { reader, feed } = setup(running(2));
    feed.watcher?.onHeartbeat();
    expect(reader.text).toMatch(/: heartbeat\n\n$/);
    reader.isSlow = true;
    feed.watcher?.onHeartbeat();
    expect(reader.isDestroyed).toBe(false);
    feed.watcher?.onHeartbeat();
    expect(reader.isDestroyed).toBe(true);
  });

  it('ends when the process stops, and watches no longer when the reader leaves', () => {
    const stopped = setup(running(2));
    stopped.feed.watcher?.onStop();
    expect(stopped.reader.isEnded).toBe(true);
    const left = setup(running(2));
    left.emit('close');
    expect(left.feed.watcher).toBeUndefined();
  });
});
