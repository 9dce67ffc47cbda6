import { z } from 'zod';
import { type Clock, withLimit } from '../../core/clock.ts';
import { type NodeBus, nodeMessage } from '../../core/cluster/node-bus.ts';
import type { Logger } from '../../core/logger.ts';
import { questionChanged } from '../../infra/db/stores/postgres-questions.ts';
import { isEnd, type ServedTask, type ServedTasks } from './served-tasks.ts';

/** How often the tasks that somebody waits for are read when no node message arrives. */
const POLL_EVERY_MS = 5_000;

/** PostgreSQL: a task for a program changed. */
export const servedTaskChanged = nodeMessage('served-task-changed', { taskId: z.string() });

interface TaskFeedDeps {
  servedTasks: Pick<ServedTasks, 'get' | 'versions'>;
  bus: Pick<NodeBus, 'on' | 'onBack'>;
  clock: Clock;
  log: Logger;
}

/** A task that somebody on this node waits for. */
interface Watched {
  /** Node messages about it so far. */
  changes: number;
  /** What was read since the last change; every waiter shares it. */
  read: Promise<ServedTask | undefined> | undefined;
  /** Number of the last update that was read. */
  version: number;
  users: number;
  waiters: Set<() => void>;
}

/** The changes of one task; close it after use. */
export interface TaskWatch {
  /**
   * Waits until the task has an update after this one.
   * @returns the task as it is then; undefined: there is none
   * @throws {StorageUnavailableError} it cannot be read
   * @throws the reason of the signal
   */
  next(afterNumber: number, signal: AbortSignal): Promise<ServedTask | undefined>;
  /**
   * Waits until the task or its question changes, at most so long; not at all when it has changed since the last call.
   * @throws the reason of the signal
   */
  change(limitMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * Tells everybody on this node who waits for a task that it has changed, on whichever node. A change costs one read of the
 * task per node, however many wait for it. A slow waiter gets the newest state, so nothing queues for it.
 */
export class TaskFeed {
  readonly #deps: TaskFeedDeps;
  readonly #watched = new Map<string, Watched>();
  #polling: AbortController | undefined;

  constructor(deps: TaskFeedDeps) {
    this.#deps = deps;
    deps.bus.on(servedTaskChanged, ({ taskId }) => this.#changed(taskId));
    deps.bus.on(questionChanged, ({ taskId }) => this.#changed(taskId));
    deps.bus.onBack(() => {
      for (const id of this.#watched.keys()) this.#changed(id);
    });
  }

  watch(taskId: string): TaskWatch {
    const watched = this.#watched.get(taskId) ?? newWatched();
    this.#watched.set(taskId, watched);
    watched.users += 1;
    this.#startPolling();
    let seen = watched.changes;
    let isClosed = false;
    return {
      next: async (afterNumber, signal) => {
        for (;;) {
          signal.throwIfAborted();
          const before = watched.changes;
          const task = await this.#read(taskId, watched);
          if (!task || task.updates.length > afterNumber) return task;
          if (watched.changes === before) await this.#wait(watched, undefined, signal);
        }
      },
      change: async (limitMs, signal) => {
        if (seen === watched.changes) await this.#wait(watched, limitMs, signal);
        seen = watched.changes;
      },
      close: () => {
        if (isClosed) return;
        isClosed = true;
        watched.users -= 1;
        if (watched.users === 0) this.#watched.delete(taskId);
        if (this.#watched.size === 0) this.#polling?.abort();
      },
    };
  }

  async #read(taskId: string, watched: Watched): Promise<ServedTask | undefined> {
    watched.read ??= this.#deps.servedTasks.get(taskId);
    const reading = watched.read;
    try {
      const task = await reading;
      watched.version = Math.max(watched.version, task?.updates.length ?? 0);
      return task;
    } catch (error) {
      if (watched.read === reading) watched.read = undefined;
      throw error;
    }
  }

  async #wait(watched: Watched, limitMs: number | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const ended = new AbortController();
    let wake: () => void = () => undefined;
    let onAbort: () => void = () => undefined;
    const woken = new Promise<void>((resolve, reject) => {
      wake = resolve;
      onAbort = () => reject(signal.reason);
    });
    watched.waiters.add(wake);
    signal.addEventListener('abort', onAbort, { once: true });
    if (limitMs !== undefined) this.#deps.clock.sleep(limitMs, ended.signal).then(wake, () => undefined);
    try {
      await woken;
    } finally {
      ended.abort();
      watched.waiters.delete(wake);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #changed(taskId: string): void {
    const watched = this.#watched.get(taskId);
    if (!watched) return;
    watched.changes += 1;
    watched.read = undefined;
    for (const wake of [...watched.waiters]) wake();
  }

  /** Node messages may be lost. */
  #startPolling(): void {
    if (this.#polling && !this.#polling.signal.aborted) return;
    this.#polling = new AbortController();
    void this.#poll(this.#polling.signal);
  }

  async #poll(stopped: AbortSignal): Promise<void> {
    const { clock, servedTasks, log } = this.#deps;
    while (!stopped.aborted) {
      try {
        await clock.sleep(POLL_EVERY_MS, stopped);
        const versions = await servedTasks.versions([...this.#watched.keys()]);
        for (const [id, version] of versions) {
          const watched = this.#watched.get(id);
          if (!watched || version <= watched.version) continue;
          // Once for each version: who waits may not read the task.
          watched.version = version;
          this.#changed(id);
        }
      } catch (error) {
        if (!stopped.aborted) log.debug({ err: error }, 'cannot read the versions of tasks, retrying');
      }
    }
  }
}

function newWatched(): Watched {
  return { changes: 0, read: undefined, version: 0, users: 0, waiters: new Set() };
}

/** Whether a task has ended or waits for input of its program. */
export function isSettled({ state }: ServedTask): boolean {
  return isEnd(state) || state === 'input-required';
}

/**
 * Waits until a task is settled, at most so long, and until the signal aborts.
 * @param limitMs 0: does not wait
 * @param onChange called with the task after each of its updates
 * @returns the task as it is then
 * @throws {StorageUnavailableError} it cannot be read
 */
export async function untilSettled(
  { feed, clock }: { feed: Pick<TaskFeed, 'watch'>; clock: Clock },
  task: ServedTask,
  limitMs: number,
  signal: AbortSignal,
  onChange: (task: ServedTask) => void = () => undefined,
): Promise<ServedTask> {
  if (limitMs === 0 || isSettled(task)) return task;
  const watch = feed.watch(task.id);
  let current = task;
  try {
    return await withLimit(clock, limitMs, signal, async (limited) => {
      try {
        while (!isSettled(current)) {
          const next = await watch.next(current.updates.length, limited);
          if (!next) return current;
          current = next;
          onChange(current);
        }
        return current;
      } catch (error) {
        if (limited.aborted) return current;
        throw error;
      }
    });
  } finally {
    watch.close();
  }
}
