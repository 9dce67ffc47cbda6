import { constants } from 'node:os';

/**
 * Clean-up steps of the demo. They run in reverse order when the demo ends, is interrupted or terminated, or when the
 * reader of its output closes. After SIGKILL none of them runs: the children then end with their parent.
 */
export class CleanUp {
  readonly #steps: Array<() => Promise<unknown>> = [];
  #ending: Promise<never> | undefined;

  constructor(options: { exitCodeOfInterrupt: number | undefined }) {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const code = signal === 'SIGINT' ? options.exitCodeOfInterrupt : undefined;
      process.on(signal, () => {
        // a second signal does not wait; the children end with this process
        if (this.isEnding) process.exit(1);
        void this.end(code ?? 128 + constants.signals[signal]);
      });
    }
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => void this.end(1));
  }

  /** True after the end has begun; later failures are a consequence of it. */
  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  add(step: () => Promise<unknown>): void {
    this.#steps.push(step);
  }

  /** Runs all steps, then ends the process. The first call determines the exit code. */
  end(exitCode: number): Promise<never> {
    this.#ending ??= this.#end(exitCode);
    return this.#ending;
  }

  async #end(exitCode: number): Promise<never> {
    for (const step of this.#steps.reverse()) await step().catch(() => undefined);
    process.exit(exitCode);
  }
}
