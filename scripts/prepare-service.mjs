// Prepares programs for a start. The build runs in a process that ends: its memory, several hundred megabytes, is not that of
// the service, and a start that has nothing to build does not load it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { consoleSources, consoleStamp } from './console-sources.mjs';
import { checkNode, looksOf, readIfThere, root, runNode } from './steps.mjs';

/** How everything looked that the last start found prepared. */
const preparedStamp = join(root, 'dist', '.prepared');

/** What the service depends on: its sources, those of its build, the installed packages, and what was built last. */
const SERVICE = [
  ...['router/src', 'runtime-server', 'packages', 'patches', 'scripts', 'tsconfig.json', 'package-lock.json'],
  ...['node_modules/.package-lock.json', 'dist/.service-hash'],
].map((path) => join(root, path));

/** Installs and builds what `npm start` needs. The service runs without packages of the build once it is built. */
export async function prepareService() {
  checkNode();
  // reading names, sizes and times takes a quarter of the time of reading all sources
  if (readIfThere(preparedStamp) === looksOfService()) return;
  await prepare('--service');
  try {
    writeFileSync(preparedStamp, looksOfService());
  } catch {
    // a folder that this user may not write: the next start reads all sources again
  }
}

/** Installs and builds in a process that ends; ends this one when that fails. */
export async function prepare(...args) {
  const { code } = await runNode(join(root, 'scripts', 'build.mjs'), args);
  if (code !== 0) process.exit(code);
}

function looksOfService() {
  return looksOf([...SERVICE, ...consoleSources, consoleStamp]);
}
