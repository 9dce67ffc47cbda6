import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './stores/storage-errors.ts';

/**
 * Creates a folder and its parents; does nothing if it exists. Not `mkdir` with `recursive`: that never returns below a
 * folder that exists and cannot have subfolders, such as /proc (Node 20).
 * @throws the error of `mkdir`
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  }
}

/** The text of a file; undefined if there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Creates a file unless it exists. It appears with its whole text or not at all, so concurrent calls return the same text.
 * @returns the text of the file
 */
export async function createFile(path: string, text: string, mode = 0o666): Promise<string> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  await writeFile(draft, text, { mode, flush: true });
  try {
    // A link never replaces a file.
    await link(draft, path).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}
