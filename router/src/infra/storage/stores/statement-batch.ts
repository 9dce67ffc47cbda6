/**
 * Executes many calls of the same kind as one statement: those that arrive while a statement runs wait, and go together
 * with the next one. A call alone waits for nothing.
 */
export class StatementBatch<Item, Result> {
  readonly #execute: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #maxSize: number;
  #waiting: Array<{ item: Item; resolve(result: Result): void; reject(error: unknown): void }> = [];
  #isRunning = false;

  /** @param execute resolves with one result for each item, in their order; rejects for all of them */
  constructor(execute: (items: readonly Item[]) => Promise<readonly Result[]>, maxSize: number) {
    this.#execute = execute;
    this.#maxSize = maxSize;
  }

  /** Rejects as `execute` does, also for a fault of another call of its statement. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#maxSize);
      try {
        const results = await this.#execute(batch.map(({ item }) => item));
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
