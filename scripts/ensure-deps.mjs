// Installs the packages of package-lock.json when they are missing or differ from it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, hashOf, isMain, readIfThere, root, run, runNode, step } from './steps.mjs';

/** @param name what messages call the packages of a folder other than the project's own */
export async function ensureDeps(folder = root, name = '') {
  const stamp = join(folder, 'node_modules', '.wa2ai-lock-hash');
  const hash = hashOf([join(folder, 'package-lock.json')]);
  if (readIfThere(stamp) === hash) return;
  if (!isInstalled(folder)) {
    await step(`installing ${name}packages`, () => npmCi(folder));
  }
  writeFileSync(stamp, hash);
}

/** Whether every package that the service needs at run time is installed, as after `npm ci --omit=dev`. */
export function hasProductionDeps() {
  return isInstalled(root, ({ dev }) => dev !== true);
}

/** Npm's record of the installed packages. */
function installedRecord(folder = root) {
  return join(folder, 'node_modules', '.package-lock.json');
}

/** Whether npm's record of installed packages agrees with the lock file. Packages of other platforms may be absent. */
function isInstalled(folder, isNeeded = () => true) {
  const record = readIfThere(installedRecord(folder));
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const locked = JSON.parse(readIfThere(join(folder, 'package-lock.json'))).packages;
  return Object.entries(locked).every(([path, entry]) => {
    if (path === '' || !isNeeded(entry)) return true;
    const found = installed[path];
    if (found === undefined) return entry.optional === true;
    const isSame = found.version === entry.version && found.integrity === entry.integrity;
    return isSame && existsSync(join(folder, path));
  });
}

async function npmCi(folder) {
  // development packages also with NODE_ENV=production: the build needs them
  // warnings are about packages of packages, which a user cannot change; errors are shown
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath;
  const { code, output } = /\.[cm]?js$/.test(npm ?? '')
    ? await runNode(npm, args, { cwd: folder, quiet: true })
    : await run('npm', args, { cwd: folder, quiet: true, shell: process.platform === 'win32' });
  if (code === 0) return;
  fail(`npm ci failed in ${folder}. The first start needs access to the npm registry.\n${output}`);
}

if (isMain(import.meta.url)) await ensureDeps();
