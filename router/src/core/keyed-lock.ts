/**
 * Mutual exclusion by name: work that shares a name runs one after the other, in the order of calls; other work runs in
 * parallel. Names without work cost no memory.
 */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `work` alone among all that share any of `names`. Rejects as `work` does; later work runs nevertheless. */
  async run<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const unique = [...new Set(names)];
    const before = unique.map((name) => this.#tails.get(name));
    // All names are taken in one step, so no two calls wait for each other.
    const turn = (async () => {
      for (const other of before) await other?.catch(() => undefined);
      return work();
    })();
    for (const name of unique) this.#tails.set(name, turn);
    try {
      return await turn;
    } finally {
      for (const name of unique) if (this.#tails.get(name) === turn) this.#tails.delete(name);
    }
  }

  /** Resolves when all work of calls made so far has ended. Never rejects. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#tails.values());
  }
}
