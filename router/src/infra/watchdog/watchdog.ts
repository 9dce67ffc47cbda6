import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import type { CurrentWork } from '../../core/suspects.ts';

/** Longest time that the main thread may not respond. */
const SILENT_MS = 30_000;
/** Longest name of a work that the thread can show. */
const MAX_NAME_BYTES = 116;

interface WatchdogOptions {
  format: 'pretty' | 'json';
  /** Longest time that the main thread may not respond, in milliseconds. Default 30,000. */
  silentMs?: number;
}

/**
 * A thread that ends this process with SIGKILL when the main thread does not respond for 30 seconds, and logs before what it
 * worked on last and where it is. Without it one text over which a function never ends would stop the service until an
 * operator kills it: no timer, no signal handler and no health check runs then. The next process counts the end (Suspects).
 *
 * Every five seconds the thread sends a message to the main thread, which adds one to a number in shared memory. Six checks
 * in a row without a change end the process. Checks are counted instead of comparing times: a thread that was late itself
 * (SIGSTOP, a laptop that slept) begins to count again. Nothing is counted while a debugger is attached. The thread, 9 MB of
 * memory, starts with the first work.
 */
export class Watchdog implements CurrentWork {
  readonly #options: Required<WatchdogOptions>;
  readonly #shared = new SharedArrayBuffer(12 + MAX_NAME_BYTES);
  /** Answers of the main thread; 1 while a debugger is attached; length of the name in bytes. */
  readonly #words = new Int32Array(this.#shared, 0, 3);
  readonly #name = new Uint8Array(this.#shared, 12);
  readonly #encoder = new TextEncoder();
  #thread: Worker | undefined;
  #isStopped = false;

  constructor({ format, silentMs = SILENT_MS }: WatchdogOptions) {
    this.#options = { format, silentMs };
  }

  workingOn(name: string): void {
    this.#words[2] = this.#encoder.encodeInto(name, this.#name).written;
    if (!this.#thread && !this.#isStopped) this.#start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#thread?.terminate();
  }

  #start(): void {
    this.#respond();
    this.#thread = new Worker(new URL('./watchdog-worker.mjs', import.meta.url), {
      workerData: { shared: this.#shared, ...this.#options },
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
    });
    this.#thread.on('message', () => this.#respond());
    // A process without a watchdog works as well.
    this.#thread.on('error', () => undefined);
    this.#thread.unref();
  }

  #respond(): void {
    Atomics.store(this.#words, 1, debuggerUrl() === undefined ? 0 : 1);
    Atomics.add(this.#words, 0, 1);
  }
}
