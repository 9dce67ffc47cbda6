import type { LogLine } from '../../core/ports/container-engine.ts';

const HEADER_BYTES = 8;
/** Longest line that is passed on; a longer one is cut. */
const MAX_LINE_CHARS = 16 * 1024;

/**
 * Splits the log stream of a container without a terminal into lines. The stream consists of frames: one byte for the
 * stream (1 stdout, 2 stderr), three zero bytes, the length in four bytes (big-endian), then that many bytes. A line may
 * extend over several frames, and a frame over several chunks.
 */
export class LogDemux {
  #pending: Buffer = Buffer.alloc(0);
  readonly #unfinished = { stdout: Buffer.alloc(0) as Buffer, stderr: Buffer.alloc(0) as Buffer };

  /** The lines that this chunk completes. */
  push(chunk: Uint8Array): LogLine[] {
    const lines: LogLine[] = [];
    let data = Buffer.concat([this.#pending, chunk]);
    while (data.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + data.readUInt32BE(4);
      if (data.length < end) break;
      const stream = data[0] === 2 ? 'stderr' : 'stdout';
      lines.push(...this.#linesOf(stream, data.subarray(HEADER_BYTES, end)));
      data = data.subarray(end);
    }
    this.#pending = data;
    return lines;
  }

  /** The last lines, which have no line break. */
  end(): LogLine[] {
    return (['stdout', 'stderr'] as const).flatMap((stream) => {
      const rest = this.#unfinished[stream];
      this.#unfinished[stream] = Buffer.alloc(0);
      return rest.length > 0 ? [lineOf(stream, rest)] : [];
    });
  }

  #linesOf(stream: LogLine['stream'], bytes: Buffer): LogLine[] {
    const lines: LogLine[] = [];
    let rest = Buffer.concat([this.#unfinished[stream], bytes]);
    for (let at = rest.indexOf(0x0a); at >= 0; at = rest.indexOf(0x0a)) {
      lines.push(lineOf(stream, rest.subarray(0, at)));
      rest = rest.subarray(at + 1);
    }
    // A program that writes no line break must not fill the memory.
    this.#unfinished[stream] = rest.length > MAX_LINE_CHARS ? rest.subarray(0, MAX_LINE_CHARS) : rest;
    return lines;
  }
}

function lineOf(stream: LogLine['stream'], bytes: Buffer): LogLine {
  return { stream, text: bytes.toString('utf8').replace(/\r$/, '').slice(0, MAX_LINE_CHARS) };
}
