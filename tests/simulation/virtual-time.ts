import { enterProcess } from './virtual-timers.ts';

/** A planned event; `cancel` has no effect once it ran. */
export interface Timer {
  cancel(): void;
}

interface Planned {
  atMs: number;
  /** Order of planning: of two events at the same moment the earlier planned one runs first. */
  sequence: number;
  run: (() => void) | undefined;
}

const { setImmediate } = globalThis;

/** Immediates queued at a time: Node settles all promises between two of them, and polls for real I/O only after all. */
const BATCH = 64;

/**
 * Virtual time of one simulation. Events run one at a time, in order of their time; after each one every promise that
 * can settle without a further event settles. No real time passes while virtual time does.
 */
export class VirtualTime {
  #nowMs = 0;
  #sequence = 0;
  #events = 0;
  readonly #heap: Planned[] = [];

  /** Milliseconds since the simulation began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events that ran so far. */
  get events(): number {
    return this.#events;
  }

  /** Runs `run` after `delayMs` of virtual time. */
  after(delayMs: number, run: () => void): Timer {
    const planned: Planned = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      sequence: this.#sequence++,
      run,
    };
    this.#push(planned);
    return {
      cancel: () => {
        planned.run = undefined;
      },
    };
  }

  /**
   * Runs events until `isDone` says so after one of them, until `endMs`, or until there is none.
   * @throws what an event throws
   */
  runUntil(endMs: number, isDone: () => boolean): Promise<'done' | 'late' | 'idle'> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (how: 'done' | 'late' | 'idle') => {
        isOver = true;
        resolve(how);
      };
      const step = () => {
        if (isOver) return;
        try {
          if (isDone()) return end('done');
          const next = this.#pop();
          if (!next) return end('idle');
          if (next.atMs > endMs) {
            this.#push(next);
            return end('late');
          }
          this.#nowMs = next.atMs;
          this.#events += 1;
          enterProcess(undefined);
          next.run?.();
        } catch (error) {
          isOver = true;
          reject(error);
        }
      };
      const pump = () => {
        enterProcess(undefined);
        for (let count = 0; count < BATCH; count += 1) setImmediate(step);
        if (!isOver) setImmediate(pump);
      };
      pump();
    });
  }

  #push(planned: Planned): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(planned);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above] as Planned;
      if (isBefore(parent, planned)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = planned;
  }

  /** The next event that was not cancelled. */
  #pop(): Planned | undefined {
    for (;;) {
      const heap = this.#heap;
      const first = heap[0];
      const last = heap.pop();
      if (!first || !last) return undefined;
      if (heap.length > 0) this.#sink(last);
      if (first.run) return first;
    }
  }

  #sink(planned: Planned): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      let below = index * 2 + 1;
      const left = heap[below];
      if (!left) break;
      const right = heap[below + 1];
      let child = left;
      if (right && isBefore(right, left)) {
        child = right;
        below += 1;
      }
      if (isBefore(planned, child)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = planned;
  }
}

function isBefore(a: Planned, b: Planned): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);
}
