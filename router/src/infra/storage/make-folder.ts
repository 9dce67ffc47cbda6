import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './database-errors.ts';

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
