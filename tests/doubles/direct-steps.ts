import type { TaskSteps } from '../../router/src/core/tasks.ts';

/** Steps of a task in memory: a second run over the same object returns stored results, as after a crash. */
export class DirectSteps implements TaskSteps {
  /** Results by step name, in the order in which the steps ended. */
  readonly results = new Map<string, unknown>();
  readonly #stopping = new AbortController();

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The process stops. */
  stop(reason: Error): void {
    this.#stopping.abort(reason);
  }

  async run<T extends string | number | boolean | null | readonly string[]>(
    name: string,
    work: () => Promise<T>,
  ): Promise<T> {
    if (!this.results.has(name)) this.results.set(name, await work());
    return this.results.get(name) as T;
  }
}
