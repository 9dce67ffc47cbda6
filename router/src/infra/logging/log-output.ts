import { writeSync } from 'node:fs';
import { z } from 'zod';

const LINE_BREAK = 0x0a;

/** How long a line waits for others. */
const GATHER_MS = 50;

/** Pause before another write to a pipe that is full because its reader is slow. */
const PAUSE_MS = 5;

interface LogOutputOptions {
  /** Where the lines go. Default: standard output. */
  fd?: number;
  /** Writes some of the bytes and returns how many. Replaced in tests. */
  write?: (fd: number, bytes: Uint8Array) => number;
  /** Lines are dropped when a pipe stays full for this long. Default 200 ms. */
  maxStallMs?: number;
}

/**
 * Writes log lines, those of 50 ms with one call, because a call costs more than everything else about a line. Drops what cannot be
 * written, so that a full disk under the log neither ends nor blocks the service; the next line that can be written reports how many were
 * dropped. (pino's own output throws an uncaught error, or waits for space without a limit.)
 */
export class LogOutput {
  readonly #fd: number;
  readonly #write: (fd: number, bytes: Uint8Array) => number;
  readonly #maxStallMs: number;
  /** Lines that wait, each with its line break. */
  #lines: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  /** The last line was written in part only, so the next one starts with a line break. */
  #isCut = false;

  constructor(options: LogOutputOptions = {}) {
    this.#fd = options.fd ?? 1;
    this.#write = options.write ?? ((fd, bytes) => writeSync(fd, bytes));
    this.#maxStallMs = options.maxStallMs ?? 200;
  }

  /** Adds a line, with its line break. Never throws. */
  write(line: string): void {
    this.#lines.push(line);
    this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  /** Writes the lines that wait: after a line that somebody may need before the process ends, and at its end. Never throws. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    if (lines.length === 0) return;
    this.#lines = [];
    if (this.#dropped > 0) {
      const report = Buffer.from(this.#droppedLine());
      if (this.#put(report) === report.length) this.#dropped = 0;
    }
    const bytes = Buffer.from(lines.join(''));
    let written = this.#dropped > 0 ? 0 : this.#put(bytes);
    if (written === bytes.length) return;
    for (const line of lines) {
      written -= Buffer.byteLength(line);
      if (written < 0) this.#dropped += 1;
    }
  }

  #droppedLine(): string {
    const line = {
      level: 'warn',
      time: new Date().toISOString(),
      lines: this.#dropped,
      msg: 'log lines dropped, output not writable',
    };
    return `${JSON.stringify(line)}\n`;
  }

  /** @returns how many of the bytes were written */
  #put(bytes: Uint8Array): number {
    const start = this.#isCut ? 1 : 0;
    let rest: Uint8Array = this.#isCut ? Buffer.concat([Buffer.from('\n'), bytes]) : bytes;
    const whole = rest.length;
    for (let stalledMs = 0; rest.length > 0; ) {
      try {
        rest = rest.subarray(this.#write(this.#fd, rest));
        stalledMs = 0;
      } catch (error) {
        const isFull = (error as NodeJS.ErrnoException).code !== 'EAGAIN';
        if (isFull || stalledMs >= this.#maxStallMs) break;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
        stalledMs += PAUSE_MS;
      }
    }
    const written = whole - rest.length;
    if (written > 0) this.#isCut = written > start && bytes[written - start - 1] !== LINE_BREAK;
    return Math.max(0, written - start);
  }
}

/** Fields that pino-pretty prints itself, or that the line begins with. */
const SHOWN_ELSEWHERE = new Set(['level', 'time', 'msg', 'mod', 'err']);

const errorSchema = z.looseObject({
  message: z.string(),
  code: z.union([z.string(), z.number()]).optional(),
  disposition: z.string().optional(),
  stack: z.string().optional(),
});

/**
 * Text of a log line for a terminal: the event, then its fields as `name=value`. An error is its sentence and code; the
 * stack follows on separate lines only when the error is not one of wa2ai's, which means a defect.
 * @param line the JSON object that pino wrote
 */
export function formatForTerminal(line: Record<string, unknown>): string {
  const prefix = typeof line.mod === 'string' ? `${line.mod}: ` : '';
  const fields = Object.entries(line).filter(([name]) => !SHOWN_ELSEWHERE.has(name));
  const error = errorSchema.safeParse(line.err);
  const parts = fields.map(([name, value]) => `${name}=${valueText(value)}`);
  if (error.success) {
    parts.push(`error=${valueText(error.data.message)}`);
    if (error.data.code !== undefined) parts.push(`code=${valueText(error.data.code)}`);
  } else if (line.err !== undefined) parts.push(`error=${valueText(line.err)}`);
  const text = [`${prefix}${line.msg ?? ''}`, ...parts].join('  ');
  const isDefect = error.success && error.data.disposition === undefined && error.data.stack !== undefined;
  return isDefect ? `${text}\n${error.data.stack}` : text;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
