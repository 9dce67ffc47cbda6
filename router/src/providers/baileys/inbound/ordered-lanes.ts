import { AsyncResource } from 'node:async_hooks';

type Task = () => Promise<void>;

/** A place in a lane, taken in the order in which things must come out. */
export interface Slot {
  readonly lane: string;
  isOpen: boolean;
  task: Task | undefined;
}

interface Lane {
  name: string;
  slots: Slot[];
  ready: Task[];
  isScheduled: boolean;
}

/**
 * Runs tasks one at a time in each lane, in the order in which their slots were reserved, whatever the order in which
 * they get ready; lanes side by side. An open slot holds its lane until whoever reserved it fills or releases it. Tasks
 * must not reject, and run in the async context in which the lanes were made, whoever's turn it was that set them off.
 * Lanes without work cost no memory.
 */
export class OrderedLanes {
  readonly #concurrency: number;
  readonly #context = new AsyncResource('wa2ai-lanes');
  readonly #lanes = new Map<string, Lane>();
  readonly #scheduled: Lane[] = [];
  #running = 0;
  #backlog = 0;
  #watchers: Array<{ below: number; wake: () => void }> = [];

  /** @param concurrency lanes whose tasks run at the same time, at most */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Tasks that are ready or run; those behind an open slot are neither. */
  get backlog(): number {
    return this.#backlog;
  }

  /** The next place of a lane. */
  reserve(laneName: string): Slot {
    const slot: Slot = { lane: laneName, isOpen: true, task: undefined };
    this.#laneOf(laneName).slots.push(slot);
    return slot;
  }

  /** The slot's work is ready. A slot that was given up before runs after what is ready in its lane by now. */
  fill(slot: Slot, task: Task): void {
    const lane = this.#laneOf(slot.lane);
    if (slot.isOpen) {
      slot.task = task;
      slot.isOpen = false;
    } else {
      this.#makeReady(lane, task);
    }
    this.#advance(lane);
  }

  /** Nothing will come of the slot; what waits behind it goes on. */
  release(slot: Slot): void {
    if (!slot.isOpen) return;
    slot.isOpen = false;
    const lane = this.#lanes.get(slot.lane);
    if (lane) this.#advance(lane);
  }

  /** Runs a task after everything reserved in the lane so far. */
  push(laneName: string, task: Task): void {
    this.fill(this.reserve(laneName), task);
  }

  /** Resolves when fewer than `tasks` are ready or running. */
  below(tasks: number): Promise<void> {
    if (this.#backlog < tasks) return Promise.resolve();
    return new Promise((wake) => this.#watchers.push({ below: tasks, wake }));
  }

  #laneOf(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane: Lane = { name, slots: [], ready: [], isScheduled: false };
    this.#lanes.set(name, lane);
    return lane;
  }

  #advance(lane: Lane): void {
    let head = lane.slots[0];
    while (head && !head.isOpen) {
      lane.slots.shift();
      if (head.task) this.#makeReady(lane, head.task);
      head = lane.slots[0];
    }
    this.#schedule(lane);
    this.#forgetIdle(lane);
  }

  #makeReady(lane: Lane, task: Task): void {
    lane.ready.push(task);
    this.#backlog += 1;
  }

  #schedule(lane: Lane): void {
    if (lane.isScheduled || lane.ready.length === 0) return;
    lane.isScheduled = true;
    this.#scheduled.push(lane);
    this.#startMore();
  }

  #startMore(): void {
    while (this.#running < this.#concurrency) {
      const lane = this.#scheduled.shift();
      if (!lane) return;
      this.#running += 1;
      this.#context.runInAsyncScope(() => void this.#runOne(lane));
    }
  }

  /** One task a turn, so that a long lane does not keep the others from running. */
  async #runOne(lane: Lane): Promise<void> {
    try {
      await lane.ready.shift()?.();
    } finally {
      this.#running -= 1;
      this.#backlog -= 1;
      lane.isScheduled = false;
      this.#schedule(lane);
      this.#startMore();
      this.#forgetIdle(lane);
      this.#wakeWatchers();
    }
  }

  #forgetIdle(lane: Lane): void {
    if (lane.isScheduled || lane.slots.length > 0 || lane.ready.length > 0) return;
    this.#lanes.delete(lane.name);
  }

  #wakeWatchers(): void {
    const due = this.#watchers.filter((watcher) => this.#backlog < watcher.below);
    if (due.length === 0) return;
    this.#watchers = this.#watchers.filter((watcher) => this.#backlog >= watcher.below);
    for (const watcher of due) watcher.wake();
  }
}
