// Builds what npm start needs, dist/service and dist/console, and for tests and tools also dist/router and dist/tests: each
// when its sources changed.
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { buildConsole, isConsoleBuilt } from './build-console.mjs';
import { bundleService } from './bundle.mjs';
import { writeConsoleTypes } from './console-types.mjs';
import { ensureBuildDeps, ensureDeps, hasProductionDeps } from './ensure-deps.mjs';
import {
  checkNode,
  fail,
  filesIn,
  hashOf,
  isMain,
  readIfThere,
  root,
  runNode,
  step,
  tool,
} from './steps.mjs';

const dist = join(root, 'dist');
const config = join(root, 'tsconfig.build.json');
/** The folders that the compiler writes. */
const COMPILED = ['router', 'tests'].map((folder) => join(dist, folder));

/** The hash of the sources of the built service. */
const serviceStamp = join(dist, '.service-hash');
/** The hash of the sources of the compiled programs. */
const programsStamp = join(dist, '.programs-hash');

/** Prepares everything that a program in dist/ needs: packages and build. Takes some milliseconds when nothing changed. */
export async function prepare() {
  checkNode();
  await ensureDeps();
  await buildService();
  await buildPrograms();
}

/** Prepares what npm start needs: no tool of tests and no check of types. A built service runs without packages of the build. */
async function prepareService() {
  checkNode();
  if (hasProductionDeps() && isServiceBuilt()) return;
  await ensureBuildDeps();
  await buildService();
}

async function buildService() {
  await unlessBuilt(serviceStamp, serviceHash(), () => step('bundling the service', bundleService));
  await buildConsole();
}

async function buildPrograms() {
  await unlessBuilt(programsStamp, programsHash(), () => step('compiling', compile));
}

async function unlessBuilt(stamp, hash, work) {
  if (readIfThere(stamp) === hash) return;
  rmSync(stamp, { force: true });
  await work();
  writeFileSync(stamp, hash);
}

async function compile() {
  // without a check of the types, which takes five times as long: `npm run check` has it
  const args = ['-p', config, '--noCheck', '--pretty', 'false'];
  const { code, output } = await runNode(tool('typescript-compiler', 'bin', 'tsc'), args, { quiet: true });
  if (code !== 0) fail(`the build failed:\n${output}`);
  copyAssets(programFolders());
  removeOrphans();
  await writeConsoleTypes();
}

function isServiceBuilt() {
  return readIfThere(serviceStamp) === serviceHash() && isConsoleBuilt();
}

function serviceHash() {
  const scripts = ['bundle.mjs', 'slim-proto.mjs', 'code-cache.mjs'].map((name) => join('scripts', name));
  const files = [
    'router/src',
    'runtime-server',
    'packages',
    'patches',
    'tsconfig.json',
    'package-lock.json',
    ...scripts,
  ];
  return hashOf(files.map((file) => join(root, file)));
}

function programsHash() {
  const files = ['tsconfig.json', 'package-lock.json', join('scripts', 'console-types.mjs')];
  return hashOf([...programFolders(), config, ...files.map((file) => join(root, file))], isSource);
}

function programFolders() {
  return JSON.parse(readIfThere(config)).include.map((folder) => join(root, folder));
}

function isSource(file) {
  return !file.endsWith('.test.ts');
}

/** Files that are read at run time and not compiled, such as pages. */
function copyAssets(folders) {
  for (const file of folders.flatMap(filesIn).filter((path) => isSource(path) && !path.endsWith('.ts'))) {
    const target = join(dist, relative(root, file));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(file, target);
  }
}

/** Removes what was built from a source that no longer exists, so that no import finds it. */
function removeOrphans() {
  for (const file of COMPILED.flatMap(filesIn)) {
    const source = join(root, relative(dist, file));
    const candidates = [source, source.replace(/\.js(\.map)?$/, '.ts')];
    if (!candidates.some((path) => existsSync(path) && statSync(path).isFile())) rmSync(file);
  }
}

if (isMain(import.meta.url)) await (process.argv[2] === '--service' ? prepareService() : prepare());
