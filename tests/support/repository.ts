import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder, found from this file both as TypeScript source and built into dist. */
export const repositoryRoot: string = (() => {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package-lock.json', folder))) folder = new URL('..', folder);
  return fileURLToPath(folder);
})();

/** Folder of the built service: that of this repository, or of the installation that the variable names. */
export const builtService: string = process.env.WA2AI_TEST_SERVICE ?? join(repositoryRoot, 'dist', 'service');
