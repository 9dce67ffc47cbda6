import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/** Pause before another write to a pipe that is full because its reader is slow. */
const PAUSE_MS = 5;

export interface LogOutputOptions {
  /** Where the lines go. Default: standard output. */
  fd?: number;
  /** Writes some of the bytes and returns how many. Replaced in tests. */
  write?: (fd: number, bytes: Uint8Array) => number;
  /** Lines are dropped when a pipe stays full for this long. Default 200 ms. */
  maxStallMs?: number;
}

/**
 * Writes log lines one at a time and drops those that cannot be written, so that a full disk under the log neither ends
 * nor blocks the service. The next line that can be written reports how many were dropped. (pino's own output throws an
 * uncaught error, or waits for space without a limit.)
 */
export class LogOutput extends Writable {
  readonly #fd: number;
  readonly #write: (fd: number, bytes: Uint8Array) => number;
  readonly #maxStallMs: number;
  #dropped = 0;
  /** The last line was written in part only, so the next one starts with a line break. */
  #isCut = false;

  constructor(options: LogOutputOptions = {}) {
    super({ decodeStrings: true });
    this.#fd = options.fd ?? 1;
    this.#write = options.write ?? ((fd, bytes) => writeSync(fd, bytes));
    this.#maxStallMs = options.maxStallMs ?? 200;
  }

  override _write(line: Buffer, _encoding: string, done: () => void): void {
    if (this.#dropped > 0 && this.#put(this.#droppedLine())) this.#dropped = 0;
    if (this.#dropped > 0 || !this.#put(line)) this.#dropped += 1;
    done();
  }

  #droppedLine(): Buffer {
    const line = {
      level: 'warn',
      time: new Date().toISOString(),
      lines: this.#dropped,
      msg: 'log lines dropped, output not writable',
    };
    return Buffer.from(`${JSON.stringify(line)}\n`);
  }

  /** @returns false when the line was not written completely */
  #put(line: Buffer): boolean {
    let rest: Uint8Array = this.#isCut ? Buffer.concat([Buffer.from('\n'), line]) : line;
    const whole = rest.length;
    for (let stalledMs = 0; rest.length > 0; ) {
      try {
        rest = rest.subarray(this.#write(this.#fd, rest));
        stalledMs = 0;
      } catch (error) {
        const isFull = (error as NodeJS.ErrnoException).code !== 'EAGAIN';
        if (isFull || stalledMs >= this.#maxStallMs) {
          this.#isCut ||= rest.length < whole;
          return false;
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
        stalledMs += PAUSE_MS;
      }
    }
    this.#isCut = false;
    return true;
  }
}
