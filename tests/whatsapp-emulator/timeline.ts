import { EmulatorError } from './emulator-error.ts';

/** Default time limit of waits, in milliseconds; long enough for a busy machine. */
export const PATIENCE_MS = 60_000;

interface Waiter<T> {
  isDone: (items: readonly T[]) => T | undefined;
  resolve: (item: T) => void;
}

/** A growing ordered list with waits for its items. */
export class Timeline<T> {
  readonly #items: T[] = [];
  readonly #waiters = new Set<Waiter<T>>();

  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    this.#items.push(item);
    for (const waiter of [...this.#waiters]) {
      const found = waiter.isDone(this.#items);
      if (found !== undefined) waiter.resolve(found);
    }
  }

  /**
   * The item at an index, as soon as there is one.
   * @param what goes into the error: "waited <timeoutMs> ms for <what>"
   */
  at(index: number, timeoutMs: number, what: string): Promise<T> {
    return this.#wait((items) => items[index], timeoutMs, what);
  }

  /** The first matching item, as soon as there is one. */
  first(fits: (item: T) => boolean, timeoutMs: number, what: string): Promise<T> {
    return this.#wait((items) => items.find(fits), timeoutMs, what);
  }

  /** The latest matching item, as soon as there is one. */
  last(fits: (item: T) => boolean, timeoutMs: number, what: string): Promise<T> {
    return this.#wait((items) => items.findLast(fits), timeoutMs, what);
  }

  #wait(isDone: Waiter<T>['isDone'], timeoutMs: number, what: string): Promise<T> {
    const found = isDone(this.#items);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve, reject) => {
      const waiter: Waiter<T> = {
        isDone,
        resolve: (item) => {
          this.#waiters.delete(waiter);
          clearTimeout(timer);
          resolve(item);
        },
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(
          new EmulatorError(`waited ${timeoutMs} ms for ${what}; there are ${this.#items.length} in all`),
        );
      }, timeoutMs);
      this.#waiters.add(waiter);
    });
  }
}
