import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The repository's folder, found from this file both as TypeScript source and built into dist. */
export const repositoryRoot: string = (() => {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package-lock.json', folder))) folder = new URL('..', folder);
  return fileURLToPath(folder);
})();
