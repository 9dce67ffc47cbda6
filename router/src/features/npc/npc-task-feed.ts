import type { Clock } from '../../core/ports/clock.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { NpcTask } from './npc-task.ts';
import type { NpcTasks } from './npc-tasks.ts';
import { taskEvent } from './task-view.ts';

/** Between two heartbeats of a stream. Tasks are read again then: a notification may be lost. */
export const HEARTBEAT_MS = 15_000;
/** Tasks of one statement. */
const MAX_READ = 500;

/** Receives the states of one task. */
export interface TaskWatcher {
  /** @param event the state as an event of a stream */
  onTask(task: NpcTask, event: string): void;
  onHeartbeat(): void;
  /** The process stops. */
  onStop(): void;
}

export interface NpcTaskFeedDeps {
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
