/**
 * Runs work that shares a key one after the other, in the order of the calls; work of different keys runs in parallel. A
 * key without work costs no memory.
 */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Rejects as `work` does; later work of the key runs nevertheless. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(work);
    this.#tails.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#tails.get(key) === turn) this.#tails.delete(key);
    }
  }

  /** Whether work of the key waits or runs. */
  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Resolves when the work of all calls made so far has ended. Never rejects. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#tails.values());
  }
}

/** Limits how many works run concurrently; the others wait in the order of the calls. */
export class Slots {
  #free: number;
  readonly #waiting: Array<() => void> = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
