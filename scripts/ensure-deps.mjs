// Installs the packages of package-lock.json when they are missing or differ from it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyPatches } from './apply-patches.mjs';
import { slimWaProto } from './slim-proto.mjs';
import { fail, hashOf, isMain, readIfThere, root, run, runNode, step } from './steps.mjs';

/**
 * All packages, those of the tests too.
 * @param name what messages call the packages of a folder other than the project's own
 */
export async function ensureDeps(folder = root, name = '') {
  const stamp = join(folder, 'node_modules', '.wa2ai-lock-hash');
  const hash = hashOf([join(folder, 'package-lock.json')]);
  if (readIfThere(stamp) !== hash) {
    if (!isInstalled(folder))
      await step(`installing ${name}packages`, () => npm(['ci', '--include=dev'], folder));
    writeFileSync(stamp, hash);
  }
  if (folder === root) changePackages();
}

/** The packages of the service, and those of scripts/build-packages, which build it: half of all. All where there were all. */
export async function ensureBuildDeps() {
  if (!hasProductionDeps() || !hasBuildDeps()) {
    // a lock file that changed; without the packages of the tests the next test run would install everything again
    if (hasTestDeps()) return ensureDeps();
    await step('installing packages', async () => {
      if (!hasProductionDeps()) await npm(['ci', '--omit=dev']);
      // keeps the packages that are there
      await npm(['install', '--workspace', join('scripts', 'build-packages'), '--include=dev', '--no-save']);
    });
  }
  changePackages();
}

function changePackages() {
  applyPatches();
  slimWaProto();
}

/** Whether every package that the service needs at run time is installed, as after `npm ci --omit=dev`. */
export function hasProductionDeps() {
  return isInstalled(root, (_, { dev }) => dev !== true);
}

function hasBuildDeps() {
  const paths = devDependenciesOf(join(root, 'scripts', 'build-packages'));
  return isInstalled(root, (path) => paths.includes(path));
}

/** Whether packages were installed for tests, of whatever versions. */
function hasTestDeps() {
  const record = readIfThere(installedRecord());
  if (record === undefined) return false;
  const installed = JSON.parse(record).packages;
  const ofBuild = devDependenciesOf(join(root, 'scripts', 'build-packages'));
  // what the service or the build needs too, such as ws, is installed without tests
  const ofTests = devDependenciesOf(root).filter((path) => !ofBuild.includes(path));
  return ofTests.some((path) => installed[path]?.dev === true);
}

function devDependenciesOf(folder) {
  const { devDependencies } = JSON.parse(readIfThere(join(folder, 'package.json')));
  return Object.keys(devDependencies).map((name) => `node_modules/${name}`);
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
    // not the folders of the repository, but the links to them
    if (!path.startsWith('node_modules/') || !isNeeded(path, entry)) return true;
    const found = installed[path];
    if (found === undefined) return entry.optional === true;
    const isSame = ['version', 'integrity', 'link'].every((name) => found[name] === entry[name]);
    return isSame && existsSync(join(folder, path));
  });
}

async function npm(command, folder = root) {
  // warnings are about packages of packages, which a user cannot change; errors are shown
  const args = [...command, '--no-audit', '--no-fund', '--loglevel=error'];
  const program = process.env.npm_execpath;
  const { code, output } = /\.[cm]?js$/.test(program ?? '')
    ? await runNode(program, args, { cwd: folder, quiet: true })
    : await run('npm', args, { cwd: folder, quiet: true, shell: process.platform === 'win32' });
  if (code === 0) return;
  fail(`npm ${command[0]} failed in ${folder}. The first start needs access to the npm registry.\n${output}`);
}

if (isMain(import.meta.url)) await (process.argv[2] === '--build' ? ensureBuildDeps() : ensureDeps());
