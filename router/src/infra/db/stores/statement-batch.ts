import { setImmediate } from 'node:timers/promises';
import { isRetryable } from '../../../core/errors.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Executes many calls of the same kind as one statement: those that arrive in the same turn of the event loop go together,
 * and those that arrive while a statement runs go with the next one.
 */
export class StatementBatch<Item, Result> {
  readonly #execute: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #maxSize: number;
  #waiting: Array<Waiting<Item, Result>> = [];
  #isRunning = false;

  /** @param execute resolves with one result for each item, in their order; rejects for all of them */
  constructor(execute: (items: readonly Item[]) => Promise<readonly Result[]>, maxSize: number) {
    this.#execute = execute;
    this.#maxSize = maxSize;
  }

  /** Rejects as `execute` does for this call, or when the database does not answer. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await setImmediate();
    while (this.#waiting.length > 0) await this.#executeTogether(this.#waiting.splice(0, this.#maxSize));
    this.#isRunning = false;
  }

  /** A call that the database refuses does not fail the others: they are executed one by one then. Never rejects. */
  async #executeTogether(calls: ReadonlyArray<Waiting<Item, Result>>): Promise<void> {
    try {
      const results = await this.#execute(calls.map(({ item }) => item));
      for (const [index, { resolve }] of calls.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (calls.length > 1 && !isRetryable(error)) {
        for (const call of calls) await this.#executeTogether([call]);
      } else for (const { reject } of calls) reject(error);
    }
  }
}
