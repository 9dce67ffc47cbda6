type Task = () => Promise<void>;

/** A place in a lane, taken in the order in which things must come out. */
export interface Slot {
  readonly lane: string;
  isOpen: boolean;
  task: Task | undefined;
  /** How long ready work behind it waits for it, in milliseconds. */
  holdMs: number;
}

interface Lane {
  name: string;
  slots: Slot[];
  ready: Task[];
  isScheduled: boolean;
  hold: { slot: Slot; timer: NodeJS.Timeout } | undefined;
}

export interface OrderedLanesOptions {
  /** How long ready work of a lane waits for an earlier open slot, in milliseconds. */
  holdMs: number;
  /** Lanes whose tasks run at the same time, at most. */
  concurrency: number;
}

/**
 * Runs tasks one at a time in each lane, in the order in which their slots were reserved, whatever the order in which
 * they get ready; lanes side by side. A slot that stays open holds its lane for a bounded time only. Tasks must not
 * reject. Lanes without work cost no memory.
 */
export class OrderedLanes {
  readonly #options: OrderedLanesOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #scheduled: Lane[] = [];
  #running = 0;
  #backlog = 0;
  #watchers: Array<{ below: number; wake: () => void }> = [];

  constructor(options: OrderedLanesOptions) {
    this.#options = options;
  }

  /** Tasks that are ready or run. */
  get backlog(): number {
    return this.#backlog;
  }

  /** @param holdMs for this slot, instead of the lanes' own */
  reserve(laneName: string, holdMs: number = this.#options.holdMs): Slot {
    const slot: Slot = { lane: laneName, isOpen: true, task: undefined, holdMs };
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

  /** Gives up every open slot, and resolves when nothing is ready or runs. */
  async drain(): Promise<void> {
    const open = [...this.#lanes.values()].flatMap((lane) => lane.slots.filter((slot) => slot.isOpen));
    for (const slot of open) this.release(slot);
    await this.below(1);
  }

  #laneOf(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane: Lane = { name, slots: [], ready: [], isScheduled: false, hold: undefined };
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
    this.#holdFor(lane, head);
    this.#schedule(lane);
    this.#forgetIdle(lane);
  }

  /** Work that waits behind an open head waits `holdMs` from the first of it on, not from the latest. */
  #holdFor(lane: Lane, head: Slot | undefined): void {
    const isAwaited = head !== undefined && lane.slots.some((slot) => slot.task);
    if (isAwaited && lane.hold?.slot === head) return;
    clearTimeout(lane.hold?.timer);
    lane.hold = undefined;
    if (!isAwaited) return;
    const timer = setTimeout(() => this.release(head), head.holdMs);
    timer.unref();
    lane.hold = { slot: head, timer };
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
    while (this.#running < this.#options.concurrency) {
      const lane = this.#scheduled.shift();
      if (!lane) return;
      this.#running += 1;
      void this.#runOne(lane);
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
