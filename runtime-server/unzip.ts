import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { crc32, inflateRawSync } from 'node:zlib';
import { CLASSES, pyRepr, RuntimeFault } from './fault.ts';
import { makeFolder } from './make-folder.ts';

/** Limits of an archive: entries, bytes of one file, and bytes of all files when they are unpacked. */
const MAX_ENTRIES = 50_000;
const MAX_FILE_BYTES = 512 * 1024 * 1024;
const MAX_ALL_BYTES = 2 * 1024 * 1024 * 1024;

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const END_BYTES = 22;
const STORED = 0;
const DEFLATED = 8;

interface Entry {
  name: string;
  method: number;
  checksum: number;
  packedBytes: number;
  bytes: number;
  /** Where its local header begins. */
  at: number;
  /** Permissions as Unix writes them; 0 when the archive has none. */
  mode: number;
}

/**
 * Unpacks a zip archive into a folder, which is made. Nothing is written when a name leads out of the folder, or when its
 * directory is damaged or states too much. Symbolic links become files with their target as text.
 * @throws {RuntimeFault}
 */
export function unzip(archive: Buffer, folder: string): void {
  const entries = entriesOf(archive);
  const files = entries.map((entry) => ({ entry, path: safePath(entry.name) }));
  makeFolder(folder);
  for (const { entry, path } of files) {
    const target = join(folder, path);
    if (entry.name.endsWith('/')) {
      makeFolder(target);
      continue;
    }
    makeFolder(dirname(target));
    writeFileSync(target, contentOf(archive, entry));
    if (entry.mode > 0) chmodSync(target, entry.mode);
  }
}

function entriesOf(archive: Buffer): Entry[] {
  const end = endOf(archive);
  const count = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  if (count === 0xffff || at === 0xffffffff) throw damaged('Archives in the Zip64 format are not read');
  if (count > MAX_ENTRIES) throw damaged(`The archive has ${count} entries; at most ${MAX_ENTRIES} are read`);
  const entries: Entry[] = [];
  let allBytes = 0;
  for (let index = 0; index < count; index++) {
    if (at + 46 > archive.length || archive.readUInt32LE(at) !== ENTRY_SIGNATURE) throw damaged();
    const [nameBytes, extraBytes, noteBytes] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field));
    const nameEnd = at + 46 + (nameBytes ?? 0);
    const entry: Entry = {
      name: archive.toString('utf8', at + 46, nameEnd),
      method: archive.readUInt16LE(at + 10),
      checksum: archive.readUInt32LE(at + 16),
      packedBytes: archive.readUInt32LE(at + 20),
      bytes: archive.readUInt32LE(at + 24),
      at: archive.readUInt32LE(at + 42),
      mode: (archive.readUInt32LE(at + 38) >>> 16) & 0o777,
    };
    allBytes += entry.bytes;
    if (entry.bytes > MAX_FILE_BYTES || allBytes > MAX_ALL_BYTES) {
      throw damaged(`The archive is too large: ${pyRepr(entry.name)} exceeds the limit`);
    }
    entries.push(entry);
    at = nameEnd + (extraBytes ?? 0) + (noteBytes ?? 0);
  }
  return entries;
}

/** The end record is at the end, behind it only a note. */
function endOf(archive: Buffer): number {
  for (let at = archive.length - END_BYTES; at >= Math.max(0, archive.length - END_BYTES - 0xffff); at--) {
    if (archive.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  throw damaged('File is not a zip file');
}

/** @throws {RuntimeFault} the name leads out of the folder */
function safePath(name: string): string {
  const path = posix.normalize(name);
  const isOutside = path === '..' || path.startsWith('../') || path.startsWith('/');
  if (isOutside || name.includes('\0') || name.includes('\\')) {
    throw new RuntimeFault(
      CLASSES.value,
      `The archive contains ${pyRepr(name)}, which leads out of the target folder.`,
    );
  }
  return path;
}

function contentOf(archive: Buffer, entry: Entry): Buffer {
  const { at, method, packedBytes, bytes, checksum, name } = entry;
  if (at + 30 > archive.length) throw damaged();
  const start = at + 30 + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28);
  const packed = archive.subarray(start, start + packedBytes);
  if (packed.length !== packedBytes || (method !== STORED && method !== DEFLATED)) throw damaged();
  let content: Buffer;
  try {
    // one byte more than stated, so that a lie about the size is found
    content = method === STORED ? packed : inflateRawSync(packed, { maxOutputLength: bytes + 1 });
  } catch {
    throw damaged();
  }
  if (content.length !== bytes || crc32(content) !== checksum) {
    throw damaged(`Bad CRC-32 for file ${pyRepr(name)}`);
  }
  return content;
}

function damaged(message = 'Bad magic number for central directory'): RuntimeFault {
  return new RuntimeFault(CLASSES.badZip, message);
}
