import { EventEmitter } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type NpcTaskFeed, streamTask, taskEvent } from '../../../router/src/features/npc/npc-task-feed.ts';
import type { NpcTask } from '../../../router/src/features/npc/npc-tasks.ts';
import { anNpcTask } from '../../support/npc-tasks.ts';

type StreamResponse = Parameters<typeof streamTask>[0];

type TaskWatcher = Parameters<NpcTaskFeed['watch']>[1];

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
    end: (text = '') => {
      reader.text += text;
      reader.isEnded = true;
      if (!reader.isSlow) events.emit('close');
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
  const end = streamTask(response, {
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
  return { reader, feed, ids, end, emit: (name: string) => events.emit(name) };
}
const running = (version: number) => anNpcTask({ status: 'processing', version });
const completed = (version: number) => anNpcTask({ status: 'completed', version, result: {} });

describe('streamTask', () => {
  it('sends the state, each newer one, and ends with the task', () => {
    const { reader, feed, ids } = setup(running(2));
    expect(feed.refreshed).toEqual(['task_1']);
    const { watcher } = feed;
    for (const task of [running(3), running(3), running(2), completed(4)])
      watcher?.onTask(task, taskEvent(task));
    expect(ids()).toEqual([2, 3, 4]);
    expect(reader.text).toContain('event: task.completed');
    expect(reader.isEnded).toBe(true);
    expect(feed.watcher).toBeUndefined();
  });

  it('continues after the last event of a reader that connects again', () => {
    const { feed, ids } = setup(running(3), 3);
    expect(ids()).toEqual([]);
    feed.watcher?.onTask(running(4), taskEvent(running(4)));
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
    for (let version = 3; version < 1_000; version += 1)
      feed.watcher?.onTask(running(version), taskEvent(running(version)));
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

  it('ends when its owner ends it, and disconnects a slow reader that does not take the rest', () => {
    const { reader, feed, end } = setup(running(2));
    reader.isSlow = true;
    end();
    expect(reader.isEnded).toBe(true);
    feed.watcher?.onHeartbeat();
    expect(reader.isDestroyed).toBe(false);
    feed.watcher?.onHeartbeat();
    expect(reader.isDestroyed).toBe(true);
    const fast = setup(running(2));
    fast.end();
    expect(fast.feed.watcher).toBeUndefined();
  });

  it('keeps one state of a connection in memory whose reader takes nothing, and closes it', async () => {
    const result = { text: 'x'.repeat(100_000) };
    const aState = (version: number) => anNpcTask({ status: 'processing', version, result });
    let watcher: TaskWatcher | undefined;
    const feed = {
      watch: (_taskId: string, given: TaskWatcher) => {
        watcher = given;
        return () => undefined;
      },
      changed: () => undefined,
    };
    const responses: ServerResponse[] = [];
    const server = createServer((_request, response) => {
      responses.push(response);
      streamTask(response, { task: aState(1), lastVersion: 0, feed });
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.pause().write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await expect.poll(() => watcher).toBeDefined();
    const [response] = responses;
    let most = 0;
    for (let version = 2; version < 1_000; version += 1) {
      watcher?.onTask(aState(version), taskEvent(aState(version)));
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, response?.writableLength ?? 0);
    }
    // The operating system has taken some megabytes of a hundred.
    expect(response?.writableNeedDrain).toBe(true);
    expect(most).toBeLessThan(150_000);
    const closed = new Promise((resolve) => response?.once('close', resolve));
    watcher?.onHeartbeat();
    watcher?.onHeartbeat();
    await closed;
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
