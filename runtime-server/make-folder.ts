import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it. Node's own `recursive` never returns in `/proc`.
 * @throws what the file system says
 */
export function makeFolder(path: string, isParentMade = false): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' && !isParentMade && dirname(path) !== path) {
      makeFolder(dirname(path));
      makeFolder(path, true);
    } else if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
