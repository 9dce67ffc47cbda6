/** One file of an archive. */
export interface TarEntry {
  /** With slashes: `workspace/notes.txt`. */
  path: string;
  bytes: number;
  changedAtMs: number;
  content: AsyncIterable<Uint8Array>;
}

const BLOCK = 512;
/** Longest path and largest size of a plain header, in bytes. */
const MAX_NAME = 100;
const MAX_SIZE = 0o77777777777;

/**
 * A tar archive (ustar, with pax headers for long paths and large files). A file that is shorter or longer than it was is
 * filled with zeros or cut, so that the archive stays readable.
 */
export async function* tarOf(entries: AsyncIterable<TarEntry>): AsyncGenerator<Uint8Array> {
  for await (const { path, bytes, changedAtMs, content } of entries) {
    const name = Buffer.from(path);
    if (name.length > MAX_NAME || bytes > MAX_SIZE || !/^[\x20-\x7e]*$/.test(path)) {
      const records = Buffer.concat([record('path', path), record('size', String(bytes))]);
      yield header(Buffer.from('pax'), records.length, changedAtMs, 'x');
      yield padded(records);
    }
    yield header(name.subarray(0, MAX_NAME), Math.min(bytes, MAX_SIZE), changedAtMs, '0');
    let left = bytes;
    for await (const chunk of content) {
      const part = chunk.subarray(0, left);
      left -= part.length;
      if (part.length > 0) yield part;
      if (left === 0) break;
    }
    for (; left > 0; left -= Math.min(left, BLOCK)) yield Buffer.alloc(Math.min(left, BLOCK));
    yield Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function header(name: Buffer, bytes: number, changedAtMs: number, type: '0' | 'x'): Buffer {
  const block = Buffer.alloc(BLOCK);
  const write = (text: string, at: number) => block.write(text, at, 'latin1');
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  name.copy(block, 0);
  write(octal(0o600, 7), 100);
  write(octal(0, 7), 108);
  write(octal(0, 7), 116);
  write(octal(bytes, 11), 124);
  write(octal(Math.floor(changedAtMs / 1000), 11), 136);
  // The sum counts its own field as spaces.
  write(' '.repeat(8), 148);
  write(type, 156);
  write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** `<length> <key>=<value>\n`, whose length counts its own digits. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
}
