import { Worker } from 'node:worker_threads';

/** What a thread said about a text; `exceeded` the budget ran out, `died` the thread ended under it (out of memory). */
export type WorkerVerdict = 'match' | 'no-match' | 'invalid' | 'exceeded' | 'died';

/** A thread that has not taken its work after this many budgets is taken for dead. */
const MAX_STARVED_BUDGETS = 40;
const COMPILED_PATTERNS = 500;

/**
 * The thread's program, as text: it runs from TypeScript sources, from `dist` and under a test runner alike, none of
 * which agree on where a worker's file is. Patterns are compiled once and the least recently used are dropped.
 * `times[0]` is when the running test began (monotonic nanoseconds, one clock for all threads), `done[0]` the last test
 * that ended; both are readable while the thread is deep in a match.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const times = new BigInt64Array(workerData.shared, 0, 1);
const done = new Int32Array(workerData.shared, 8, 1);
const compiled = new Map();
function expressionOf(pattern) {
  const known = compiled.get(pattern);
  if (known) {
    compiled.delete(pattern);
    compiled.set(pattern, known);
    return known;
  }
  const expression = new RegExp(pattern);
  compiled.set(pattern, expression);
  if (compiled.size > ${COMPILED_PATTERNS}) compiled.delete(compiled.keys().next().value);
  return expression;
}
function verdictOn(pattern, text) {
  try {
    return expressionOf(pattern).test(text) ? 'match' : 'no-match';
  } catch (error) {
    return error instanceof SyntaxError ? 'invalid' : 'exceeded';
  }
}
parentPort.on('message', ({ id, pattern, text }) => {
  Atomics.store(times, 0, process.hrtime.bigint());
  const verdict = verdictOn(pattern, text);
  Atomics.store(done, 0, id);
  parentPort.postMessage({ id, verdict });
});
parentPort.postMessage({ id: 0 });
`;

/**
 * One thread that tests texts, one at a time. Idle it neither holds the process nor uses CPU.
 * After `exceeded` or `died` it is of no more use, and its thread is gone.
 */
export class RegexWorker {
  /** False: it could not be started. */
  readonly ready: Promise<boolean>;
  readonly #thread: Worker;
  readonly #times: BigInt64Array;
  readonly #done: Int32Array;
  #id = 0;
  #settle: ((verdict: WorkerVerdict) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    const shared = new SharedArrayBuffer(16);
    this.#times = new BigInt64Array(shared, 0, 1);
    this.#done = new Int32Array(shared, 8, 1);
    this.#thread = new Worker(PROGRAM, {
      eval: true,
      execArgv: [],
      env: {},
      workerData: { shared },
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
      name: 'regex',
    });
    this.ready = new Promise((resolve) => {
      this.#thread.on('message', (message: { id: number; verdict: WorkerVerdict }) => {
        if (message.id === 0) {
          // Not before: while it starts, Node takes the reference again, and an idle thread would hold the process.
          this.#thread.unref();
          resolve(true);
        } else if (message.id === this.#id) this.#end(message.verdict);
      });
      const lost = () => {
        resolve(false);
        this.#end('died');
      };
      this.#thread.on('error', lost);
      this.#thread.on('exit', lost);
    });
  }

  /**
   * Tests a text for at most `budgetMs` of the thread's own time: what it waited for a core before it began, and what
   * this thread's event loop was late, do not count. Never rejects.
   */
  run(pattern: string, text: string, budgetMs: number): Promise<WorkerVerdict> {
    const id = ++this.#id;
    Atomics.store(this.#times, 0, 0n);
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#thread.ref();
      this.#thread.postMessage({ id, pattern, text });
      this.#watch(id, budgetMs, budgetMs, 0);
    });
  }

  /** Ends the thread, in the middle of a match too. */
  async terminate(): Promise<void> {
    this.#end('died');
    await this.#thread.terminate();
  }

  #watch(id: number, budgetMs: number, waitMs: number, starved: number): void {
    this.#timer = setTimeout(() => {
      // Done, and the message that says so waits in this thread's event loop.
      if (Atomics.load(this.#done, 0) === id) return;
      const startedNs = Atomics.load(this.#times, 0);
      const ranMs = startedNs === 0n ? 0 : Number(process.hrtime.bigint() - startedNs) / 1e6;
      if (ranMs < budgetMs && starved < MAX_STARVED_BUDGETS) {
        this.#watch(id, budgetMs, Math.ceil(budgetMs - ranMs), starved + 1);
        return;
      }
      this.#end('exceeded');
      void this.terminate();
    }, waitMs);
  }

  #end(verdict: WorkerVerdict): void {
    clearTimeout(this.#timer);
    this.#thread.unref();
    this.#settle?.(verdict);
    this.#settle = undefined;
  }
}
