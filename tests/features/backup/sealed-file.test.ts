import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sealed, unsealed } from '../../../router/src/features/backup/sealed-file.ts';

const PASSPHRASE = 'correct horse battery';
const COST = 2 ** 14;
const CHUNK = 65_536;
const SEALED_CHUNK = CHUNK + 16;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-sealed-'));
  path = join(folder, 'file');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function seal(plaintext: Buffer, pieceBytes = 50_000): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < plaintext.length; at += pieceBytes) yield plaintext.subarray(at, at + pieceBytes);
  }
  const parts: Buffer[] = [];
  for await (const part of sealed(pieces(), PASSPHRASE, COST)) parts.push(part);
  const file = Buffer.concat(parts);
  await writeFile(path, file);
  return file;
}

async function opened(passphrase = PASSPHRASE): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of unsealed(path, passphrase)) parts.push(part);
  return Buffer.concat(parts);
}

/** Where the first chunk begins. */
function headBytes(file: Buffer): number {
  let at = 0;
  for (let line = 0; line < 3; line += 1) at = file.indexOf('\n', at) + 1;
  return at;
}

function bytes(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 31 + (index >> 8)) & 255));
}

describe('A sealed file', () => {
  it.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7])(
    'returns %i bytes as they were',
    async (length) => {
      const plaintext = bytes(length);
      await seal(plaintext);
      expect((await opened()).equals(plaintext)).toBe(true);
    },
  );

  it('contains none of its plaintext', async () => {
    const file = await seal(Buffer.from('a secret '.repeat(1_000)));
    expect(file.includes('secret')).toBe(false);
  });

  it('encrypts the same text differently each time', async () => {
    const first = await seal(bytes(100));
    const second = await seal(bytes(100));
    expect(first.subarray(-100).equals(second.subarray(-100))).toBe(false);
  });

  it('does not open with another passphrase', async () => {
    await seal(bytes(10));
    await expect(opened('another passphrase')).rejects.toMatchObject({ code: 'BACKUP_PASSPHRASE' });
  });

  it('does not open when a bit of any part was changed', async () => {
    const file = await seal(bytes(2 * CHUNK + 5));
    const start = headBytes(file);
    for (const at of [start, start + CHUNK, start + SEALED_CHUNK + 3, file.length - 1]) {
      const changed = Buffer.from(file);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await writeFile(path, changed);
      await expect(opened(), `byte ${at}`).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    }
  });

  it('does not open when its parameters were changed', async () => {
    const file = await seal(bytes(10));
    const text = file.toString('latin1').replace('"n":16384', '"n":32768');
    await writeFile(path, Buffer.from(text, 'latin1'));
    await expect(opened()).rejects.toMatchObject({ code: 'BACKUP_PASSPHRASE' });
  });

  it('refuses parameters that would take gigabytes of memory', async () => {
    const file = await seal(bytes(10));
    const text = file.toString('latin1').replace('"n":16384', '"n":1073741824');
    await writeFile(path, Buffer.from(text, 'latin1'));
    await expect(opened()).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
  });

  it('does not open when it is cut off, inside a chunk or between two', async () => {
    const file = await seal(bytes(3 * CHUNK));
    const start = headBytes(file);
    for (const end of [start, start + 10, start + SEALED_CHUNK, start + 2 * SEALED_CHUNK, file.length - 1]) {
      await writeFile(path, file.subarray(0, end));
      await expect(opened(), `${end} bytes`).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    }
  });

  it('does not open when chunks were exchanged, repeated or removed', async () => {
    const file = await seal(bytes(3 * CHUNK + 100));
    const start = headBytes(file);
    const chunk = (index: number) =>
      file.subarray(start + index * SEALED_CHUNK, start + (index + 1) * SEALED_CHUNK);
    const head = file.subarray(0, start);
    const orders = [[1, 0, 2, 3], [0, 0, 1, 2, 3], [0, 2, 3], [0, 1, 2], [3]];
    for (const order of orders) {
      await writeFile(path, Buffer.concat([head, ...order.map(chunk)]));
      await expect(opened(), order.join()).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    }
  });

  it('does not open when something was added to it', async () => {
    const file = await seal(bytes(10));
    await writeFile(path, Buffer.concat([file, Buffer.from('x')]));
    await expect(opened()).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
  });

  it.each([
    ['a file of another program', 'PK\u0003\u0004 something', 'BACKUP_FILE'],
    ['an empty file', '', 'BACKUP_FILE'],
    ['a backup in a later format', 'wa2ai backup 2\n{}\n', 'BACKUP_NEWER'],
  ])('is not %s', async (_, text, code) => {
    await writeFile(path, text);
    await expect(opened()).rejects.toMatchObject({ code });
  });

  it('reports that it is missing', async () => {
    await expect(opened()).rejects.toMatchObject({
      code: 'BACKUP_FILE',
      message: /cannot be read \(ENOENT\)/,
    });
    await expect(readFile(path)).rejects.toThrow(/ENOENT/);
  });
});
