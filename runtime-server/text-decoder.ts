import { isUtf8 } from 'node:buffer';

/** UTF-8 as text; each byte that is not part of a valid character becomes `\xNN`. */
export function decodeText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  let validFrom = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = charLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    text += `${bytes.toString('utf8', validFrom, at)}\\x${bytes.toString('hex', at, at + 1)}`;
    at += 1;
    validFrom = at;
  }
  return text + bytes.toString('utf8', validFrom);
}

/** Position of the first byte that is not part of a valid character; -1 when there is none. */
export function invalidAt(bytes: Buffer): number {
  for (let at = 0; at < bytes.length; ) {
    const length = charLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return -1;
}

/** Bytes of the UTF-8 character that begins here; 0 when none does. */
function charLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const length = lengthOf(first);
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length ? length : 0;
}

function lengthOf(first: number): number {
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/** Decodes a stream: a character whose bytes come in two chunks is one character. */
export class StreamDecoder {
  #carry = Buffer.alloc(0);

  decode(chunk: Buffer): string {
    const bytes = this.#carry.length > 0 ? Buffer.concat([this.#carry, chunk]) : chunk;
    const cut = bytes.length - openBytes(bytes);
    this.#carry = Buffer.from(bytes.subarray(cut));
    return decodeText(bytes.subarray(0, cut));
  }

  /** The rest at the end of the stream, or when it pauses. */
  flush(): string {
    const text = decodeText(this.#carry);
    this.#carry = Buffer.alloc(0);
    return text;
  }
}

/** Bytes at the end that begin a character and do not complete it. */
function openBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return lengthOf(byte) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}
