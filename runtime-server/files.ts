import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CLASSES, osFault, pyRepr, RuntimeFault } from './fault.ts';
import { makeFolder } from './make-folder.ts';
import { decodeText, invalidAt } from './text-decoder.ts';
import { unzip } from './unzip.ts';

/** The text of a file; line breaks of other systems become `\n`. @throws {RuntimeFault} */
export function readText(path: string, encoding = 'utf-8', errors = 'strict'): string {
  const bytes = fileAction(path, () => readFileSync(path));
  return textOf(bytes, encoding, errors).replace(/\r\n?/g, '\n');
}

/** Writes a text, and makes the folders above it. @throws {RuntimeFault} */
export function writeText(path: string, content: string): void {
  fileAction(path, () => {
    makeFolder(dirname(path));
    writeFileSync(path, content);
  });
}

/** Stores an uploaded file, or unpacks it into the folder of that name. @throws {RuntimeFault} */
export function storeUpload(path: string, bytes: Buffer, isZip: boolean): void {
  fileAction(path, () => {
    makeFolder(dirname(path));
    if (isZip) unzip(bytes, path);
    else writeFileSync(path, bytes);
  });
}

function textOf(bytes: Buffer, encoding: string, errors: string): string {
  const name = encoding.toLowerCase().replaceAll('_', '-');
  if (name === 'latin-1' || name === 'latin1' || name === 'iso-8859-1') return bytes.toString('latin1');
  if (name !== 'utf-8' && name !== 'utf8' && name !== 'ascii') {
    throw new RuntimeFault('builtins.LookupError', `unknown encoding: ${encoding}`);
  }
  if (errors === 'backslashreplace') return decodeText(bytes);
  if (errors === 'replace') return bytes.toString('utf8');
  const at = invalidAt(bytes);
  if (errors === 'ignore') return at < 0 ? bytes.toString('utf8') : withoutInvalid(bytes);
  if (at < 0) return bytes.toString('utf8');
  const byte = bytes.toString('hex', at, at + 1);
  throw new RuntimeFault(
    'builtins.UnicodeDecodeError',
    `'utf-8' codec can't decode byte 0x${byte} in position ${at}: invalid start byte`,
  );
}

function withoutInvalid(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const at = invalidAt(rest);
    parts.push(at < 0 ? rest : rest.subarray(0, at));
    rest = at < 0 ? rest.subarray(rest.length) : rest.subarray(at + 1);
  }
  return Buffer.concat(parts).toString('utf8');
}

function fileAction<T>(path: string, action: () => T): T {
  if (path.includes('\0')) {
    throw new RuntimeFault(CLASSES.value, `embedded null byte in ${pyRepr(path)}`);
  }
  try {
    return action();
  } catch (error) {
    throw osFault(error, path);
  }
}
