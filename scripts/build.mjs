// Compiles router/, runtime-server/ and the programs under tests/ to dist/, and the console, when the sources changed.
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { buildConsole, consoleFolder, isConsoleBuilt } from './build-console.mjs';
import { bundleService, service } from './bundle.mjs';
import { consoleStamp } from './console-sources.mjs';
import { writeConsoleTypes } from './console-types.mjs';
import { ensureDeps, hasProductionDeps } from './ensure-deps.mjs';
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
const stamp = join(dist, '.source-hash');
const config = join(root, 'tsconfig.build.json');

/** Resolves when dist/ matches the sources. Takes some milliseconds when nothing changed. */
export async function build() {
  await buildService();
  await buildConsole();
}

async function buildService() {
  const hash = sourceHash();
  if (readIfThere(stamp) === hash) return;
  rmSync(stamp, { force: true });
  await step('compiling', compile);
  await step('bundling the service', bundleService);
  await writeConsoleTypes();
  writeFileSync(stamp, hash);
}

async function compile() {
  // without a check of the types, which takes five times as long: `npm run check` has it
  const args = ['-p', config, '--noCheck', '--pretty', 'false'];
  const { code, output } = await runNode(tool('typescript-compiler', 'bin', 'tsc'), args, { quiet: true });
  if (code !== 0) fail(`the build failed:\n${output}`);
  copyAssets(sourceFolders());
  removeOrphans();
}

/** Prepares everything that a program in dist/ needs: packages and build. */
export async function prepare() {
  checkNode();
  await ensureDeps();
  await build();
}

/** Whether the service can start without a build: development packages may be missing. */
function isServiceBuilt() {
  return hasProductionDeps() && readIfThere(stamp) === sourceHash() && isConsoleBuilt();
}

function sourceFolders() {
  return JSON.parse(readIfThere(config)).include.map((folder) => join(root, folder));
}

function sourceHash() {
  return hashOf(sourcePaths(), isSource);
}

function sourcePaths() {
  const scripts = ['bundle.mjs', 'slim-proto.mjs', 'code-cache.mjs', 'console-types.mjs'].map((name) =>
    join('scripts', name),
  );
  const files = ['tsconfig.json', 'package-lock.json', ...scripts];
  return [...sourceFolders(), join(root, 'runtime-server'), config, ...files.map((file) => join(root, file))];
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
  for (const file of filesIn(dist)) {
    if ([stamp, join(dist, '.prepared'), consoleStamp].includes(file)) continue;
    if ([service, consoleFolder].some((folder) => file.startsWith(folder + sep))) continue;
    const source = join(root, relative(dist, file));
    const candidates = [source, source.replace(/\.js(\.map)?$/, '.ts')];
    if (!candidates.some((path) => existsSync(path) && statSync(path).isFile())) rmSync(file);
  }
}

if (isMain(import.meta.url) && !(process.argv[2] === '--service' && isServiceBuilt())) await prepare();
