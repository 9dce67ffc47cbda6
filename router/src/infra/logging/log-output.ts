import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/** A pipe whose reader is slow takes more after a moment. */
const PAUSE_MS = 5;

export interface LogOutputOptions {
  /** Where the lines go. Default: standard output. */
  fd?: number;
  /** Writes some of the bytes and says how many. Another one in tests. */
  write?: (fd: number, bytes: Uint8Array) => number;
  /** A pipe that takes nothing for so long loses lines. Default 200 ms. */
  maxStallMs?: number;
}

/**
 * Writes log lines, one at a time, and loses those that cannot be written: a full disk under the log must neither end nor
 * hang the service. How many were lost is the next line that can be written. (pino's own output throws where nobody
 * catches, and then waits without end for room.)
 */
export class LogOutput extends Writable {
  readonly #fd: number;
  readonly #write: (fd: number, bytes: Uint8Array) => number;
  readonly #maxStallMs: number;
  #lost = 0;
  /** A line was cut off in the middle: the next one must not be taken for its rest. */
  #isCut = false;

  constructor(options: LogOutputOptions = {}) {
    super({ decodeStrings: true });
    this.#fd = options.fd ?? 1;
    this.#write = options.write ?? ((fd, bytes) => writeSync(fd, bytes));
    this.#maxStallMs = options.maxStallMs ?? 200;
  }

  override _write(line: Buffer, _encoding: string, done: () => void): void {
    if (this.#lost > 0 && this.#put(this.#lostLine())) this.#lost = 0;
    if (this.#lost > 0 || !this.#put(line)) this.#lost += 1;
    done();
  }

  #lostLine(): Buffer {
    const line = {
      level: 40,
      time: new Date().toISOString(),
      lines: this.#lost,
      msg: 'log lines were lost: they could not be written',
    };
    return Buffer.from(`${JSON.stringify(line)}\n`);
  }

  /** @returns false when it is not written, or not whole */
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
