import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import { nodeMessage } from '../../core/cluster/node-bus.ts';
import type { Logger } from '../../core/logger.ts';
import { estimatedMs, hasEnded, type NpcTask, type NpcTasks } from './npc-tasks.ts';

/** Between two heartbeats of a stream. Tasks are read again then: a notification may be lost. */
const HEARTBEAT_MS = 15_000;
/** Tasks of one statement. */
const MAX_READ = 500;

/** PostgreSQL: a task of the NPC server changed. */
export const npcTaskChanged = nodeMessage('npc-task', { taskId: z.string() });

/** Receives the states of one task. */
interface TaskWatcher {
  /** @param event the state as an event of a stream */
  onTask(task: NpcTask, event: string): void;
  onHeartbeat(): void;
  /** The process stops. */
  onStop(): void;
}

interface NpcTaskFeedDeps {
  npcTasks: Pick<NpcTasks, 'find' | 'findAll'>;
  clock: Clock;
  log: Logger;
}

/**
 * Sends the states of tasks to the streams of this node. A change is read once for all streams of a task; a state between two
 * reads is left out, because the later one contains it.
 */
export class NpcTaskFeed {
  readonly #deps: NpcTaskFeedDeps;
  readonly #watchers = new Map<string, Set<TaskWatcher>>();
  /** Tasks that are being read; true: they changed meanwhile. */
  readonly #reading = new Map<string, boolean>();
  readonly #stopping = new AbortController();
  #beating = false;

  constructor(deps: NpcTaskFeedDeps) {
    this.#deps = deps;
  }

  get watched(): number {
    let count = 0;
    for (const watchers of this.#watchers.values()) count += watchers.size;
    return count;
  }

  /** @returns ends the watch */
  watch(taskId: string, watcher: TaskWatcher): () => void {
    const watchers = this.#watchers.get(taskId) ?? new Set();
    this.#watchers.set(taskId, watchers.add(watcher));
    if (!this.#beating) void this.#beat();
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(taskId) === watchers) this.#watchers.delete(taskId);
    };
  }

  /** The task has a new version. */
  changed(taskId: string): void {
    if (!this.#watchers.has(taskId)) return;
    if (this.#reading.has(taskId)) this.#reading.set(taskId, true);
    else void this.#read(taskId);
  }

  /** A state that this process has stored, which so need not be read. */
  show(task: NpcTask): void {
    if (this.#watchers.has(task.taskId)) this.#send(task);
  }

  /** Ends all watches. */
  stop(): void {
    this.#stopping.abort();
    for (const watcher of this.#all()) watcher.onStop();
    this.#watchers.clear();
  }

  async #read(taskId: string): Promise<void> {
    this.#reading.set(taskId, false);
    try {
      const task = await this.#deps.npcTasks.find(taskId);
      if (task) this.#send(task);
    } catch (error) {
      this.#deps.log.debug({ err: error, task: taskId }, 'npc task not read for its streams');
    }
    const isChanged = this.#reading.get(taskId);
    this.#reading.delete(taskId);
    if (isChanged) this.changed(taskId);
  }

  #send(task: NpcTask): void {
    // once for all readers
    const event = taskEvent(task);
    for (const watcher of [...(this.#watchers.get(task.taskId) ?? [])]) watcher.onTask(task, event);
  }

  async #beat(): Promise<void> {
    this.#beating = true;
    try {
      while (this.#watchers.size > 0) {
        await this.#deps.clock.sleep(HEARTBEAT_MS, this.#stopping.signal);
        await this.#readAll();
        for (const watcher of this.#all()) watcher.onHeartbeat();
      }
    } catch {
      // The process stops.
    }
    this.#beating = false;
  }

  async #readAll(): Promise<void> {
    const ids = [...this.#watchers.keys()];
    try {
      for (let from = 0; from < ids.length; from += MAX_READ) {
        const tasks = await this.#deps.npcTasks.findAll(ids.slice(from, from + MAX_READ));
        for (const task of tasks) this.#send(task);
      }
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'npc tasks not read for their streams');
    }
  }

  #all(): TaskWatcher[] {
    return [...this.#watchers.values()].flatMap((watchers) => [...watchers]);
  }
}

/** A task as `task.status`, events and, without its end, `task.list` show it. Times are epoch milliseconds. */
export function taskView(task: NpcTask): Record<string, unknown> {
  const { taskId, type, status, progress, result, error, createdAtMs, updatedAtMs } = task;
  return {
    taskId,
    type,
    status,
    ...(progress !== undefined && { progress }),
    ...(result && { result }),
    ...(error && { error }),
    createdAt: createdAtMs,
    updatedAt: updatedAtMs,
    ...(!hasEnded(task) && { estimatedDuration: estimatedMs(type) }),
  };
}

/** An entry of `task.list`. A caller finds its own task by the key that it opened it with. */
export function listedView({ idempotencyKey, ...task }: NpcTask): Record<string, unknown> {
  const { result: _result, error: _error, estimatedDuration: _estimate, ...view } = taskView(task);
  return { ...view, ...(idempotencyKey !== undefined && { idempotencyKey }) };
}

/** An event of a task: `task.update` while it runs, then `task.completed` or `task.failed`. Its id is the task's version. */
export function taskEvent(task: NpcTask): string {
  const name = hasEnded(task) ? `task.${task.status}` : 'task.update';
  return `id: ${task.version}\nevent: ${name}\ndata: ${JSON.stringify(taskView(task))}\n\n`;
}

/** A reader that takes nothing for so many heartbeats is disconnected. */
const MAX_MISSED = 2;
/** After this, a client connects again. */
const RETRY_MS = 2_000;

/** What a stream needs of a response of HTTP. */
type StreamResponse = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'on' | 'writableNeedDrain'
>;

/**
 * Writes the states of a task as server-sent events until the task or the connection ends. A slow reader gets the newest
 * state only, so at most one event waits in memory beside those that are on the way.
 * @param lastVersion the `Last-Event-ID` of a reader that connects again: it has this version; 0: it has none
 * @returns ends the stream
 */
export function streamTask(
  response: StreamResponse,
  {
    task,
    lastVersion,
    feed,
  }: { task: NpcTask; lastVersion: number; feed: Pick<NpcTaskFeed, 'watch' | 'changed'> },
): () => void {
  let sent = lastVersion;
  let newest = task;
  let newestEvent = taskEvent(task);
  let missed = 0;
  let hasStopped = false;
  const end = (last = '') => {
    hasStopped = true;
    // in one write: many readers get the end at the same time
    if (last === '') response.end();
    else response.end(last);
  };
  const write = () => {
    if (hasStopped || response.writableNeedDrain) return;
    const text = newest.version > sent ? newestEvent : '';
    sent = Math.max(sent, newest.version);
    if (hasEnded(newest)) end(text);
    else if (text !== '') response.write(text);
  };
  const unwatch = feed.watch(task.taskId, {
    onTask: (state, event) => {
      if (state.version > newest.version) [newest, newestEvent] = [state, event];
      write();
    },
    onHeartbeat: () => {
      // A stream that has ended stays open until its reader has taken everything.
      missed = response.writableNeedDrain || hasStopped ? missed + 1 : 0;
      if (missed >= MAX_MISSED) response.destroy();
      else if (missed === 0) response.write(': heartbeat\n\n');
    },
    onStop: () => end(),
  });
  response.on('drain', write);
  response.on('close', () => {
    hasStopped = true;
    unwatch();
  });
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // For proxies that collect responses.
    'x-accel-buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
  write();
  // It may have changed since it was read.
  if (!hasStopped) feed.changed(task.taskId);
  return () => end();
}
