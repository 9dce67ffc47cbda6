import { hash } from 'node:crypto';

const NEW_LINE = 0x0a;

/**
 * The digest of rows in the text format of COPY, one row a line, whatever their order: the number of rows and the sum of
 * their SHA-256, each as four 64-bit numbers. Two servers may return the same rows in different order.
 */
export class RowDigest {
  rows = 0;
  readonly #sum = new BigUint64Array(4);
  #carry: Buffer[] = [];

  /** Takes bytes as they come; a row may continue in the next call. */
  add(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, start)) {
      const line = bytes.subarray(start, end);
      this.#addRow(this.#carry.length === 0 ? line : Buffer.concat([...this.#carry, line]));
      this.#carry = [];
      start = end + 1;
    }
    // A copy: the caller may use its buffer again.
    if (start < bytes.length) this.#carry.push(Buffer.from(bytes.subarray(start)));
  }

  /** Hexadecimal digits, when all rows were added. */
  get digest(): string {
    return [...this.#sum].map((part) => part.toString(16).padStart(16, '0')).join('');
  }

  #addRow(row: Buffer): void {
    const digest = hash('sha256', row, 'buffer');
    // An element of the array keeps the lowest 64 bits of a sum.
    for (const [index, part] of this.#sum.entries()) {
      this.#sum[index] = part + digest.readBigUInt64BE(index * 8);
    }
    this.rows += 1;
  }
}
