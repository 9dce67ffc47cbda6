// Prepares the service for a start. Imports nothing of the build, which takes longer to load than to find out that it has nothing to do.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { consoleSources, consoleStamp } from './console-sources.mjs';
import { checkNode, looksOf, readIfThere, root } from './steps.mjs';

/** How everything looked that the last start found prepared. */
const preparedStamp = join(root, 'dist', '.prepared');

/** What the service depends on: its sources, those of its build, the installed packages, and what was built last. */
const SERVICE = [
  ...['router/src', 'runtime-server', 'scripts', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
  ...['node_modules/.package-lock.json', 'dist/.source-hash'],
].map((path) => join(root, path));

/** Installs and builds what `npm start` needs. The service runs without development packages once it is built. */
export async function prepareService() {
  checkNode();
  // reading names, sizes and times takes a quarter of the time of reading all sources
  const looks = looksOf([...SERVICE, ...consoleSources, consoleStamp]);
  if (readIfThere(preparedStamp) === looks) return;
  const { isServiceBuilt, prepare } = await import('./build.mjs');
  if (!isServiceBuilt()) return prepare();
  try {
    writeFileSync(preparedStamp, looks);
  } catch {
    // a folder that this user may not write: the next start reads all sources again
  }
}
