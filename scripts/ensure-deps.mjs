// Installs the packages of package-lock.json when they are missing or differ from it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, hashOf, isMain, readIfThere, root, run, runNode, say } from './steps.mjs';

/** Packages of a folder other than the project's own get their name in what is said. */
export async function ensureDeps(folder = root, name = '') {
  const stamp = join(folder, 'node_modules', '.wa2ai-lock-hash');
  const hash = hashOf([join(folder, 'package-lock.json')]);
  if (readIfThere(stamp) === hash) return;
  if (!isInstalled(folder)) {
    say(`installing ${name}packages with npm ci; this takes a minute or two`);
    const code = await npmCi(folder);
    if (code !== 0) {
      fail(
        `npm ci failed in ${folder}. Its words are above; without the package registry, the first start cannot work.`,
      );
    }
  }
  writeFileSync(stamp, hash);
}

/** Whether npm's own record of what it installed agrees with the lock file; other platforms' packages may be absent. */
function isInstalled(folder) {
  const record = readIfThere(join(folder, 'node_modules', '.package-lock.json'));
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const locked = JSON.parse(readIfThere(join(folder, 'package-lock.json'))).packages;
  return Object.entries(locked).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found === undefined) return optional === true;
    return found.version === version && found.integrity === integrity && existsSync(join(folder, path));
  });
}

async function npmCi(folder) {
  // development packages also when the environment says production: the build needs them
  // of the packages' own packages npm warns much that nobody here can mend; errors are shown
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath;
  const result = /\.[cm]?js$/.test(npm ?? '')
    ? await runNode(npm, args, { cwd: folder })
    : await run('npm', args, { cwd: folder, shell: process.platform === 'win32' });
  return result.code;
}

if (isMain(import.meta.url)) await ensureDeps();
