// Compiles router/ and the programs under tests/ to dist/ when the sources changed.
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { bundleService, service } from './bundle.mjs';
import { ensureDeps, hasProductionDeps } from './ensure-deps.mjs';
import { generateClient } from './prisma.mjs';
import { checkNode, fail, filesIn, hashOf, isMain, readIfThere, root, runNode, say, tool } from './steps.mjs';

const dist = join(root, 'dist');
const stamp = join(dist, '.source-hash');
const config = join(root, 'tsconfig.build.json');

/** Packages inside dist/ hide those of the project's own node_modules; only the Prisma runtime is there. */
const bundledPackages = join(dist, 'node_modules');

/** What the generated database client loads of @prisma/client: 5 MB of its 72. */
const PRISMA_RUNTIME = [
  'LICENSE',
  'runtime/client.mjs',
  'runtime/query_compiler_fast_bg.postgresql.mjs',
  'runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs',
];

/** Resolves when dist/ matches the sources. Takes some milliseconds when nothing changed. */
export async function build() {
  await generateClient();
  const hash = sourceHash();
  if (readIfThere(stamp) === hash) return;
  say('building');
  rmSync(stamp, { force: true });
  const { code, output } = await runNode(
    tool('typescript-compiler', 'bin', 'tsc'),
    ['-p', config, '--pretty', 'false'],
    { quiet: true },
  );
  if (code !== 0) fail(`the build failed:\n${output}`);
  copyAssets(sourceFolders());
  removeOrphans();
  bundlePrismaRuntime();
  await bundleService();
  writeFileSync(stamp, hash);
}

/** Prepares everything that a program in dist/ needs: packages, database client, build. */
export async function prepare() {
  checkNode();
  await ensureDeps();
  await build();
}

/** The same for the service itself, which runs without development packages once it is built. */
export async function prepareService() {
  checkNode();
  if (hasProductionDeps() && readIfThere(stamp) === sourceHash()) return;
  await prepare();
}

function sourceFolders() {
  return JSON.parse(readIfThere(config)).include.map((folder) => join(root, folder));
}

function sourceHash() {
  const files = [
    'tsconfig.json',
    'package-lock.json',
    join('prisma', 'schema.prisma'),
    join('scripts', 'bundle.mjs'),
  ];
  return hashOf([...sourceFolders(), config, ...files.map((file) => join(root, file))], isSource);
}

function isSource(file) {
  return !file.endsWith('.test.ts') && !file.endsWith('.schema-hash');
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
    if (file === stamp || file.startsWith(bundledPackages + sep) || file.startsWith(service + sep)) continue;
    const source = join(root, relative(dist, file));
    const candidates = [source, source.replace(/\.js(\.map)?$/, '.ts')];
    if (!candidates.some((path) => existsSync(path) && statSync(path).isFile())) rmSync(file);
  }
}

/** Copies the Prisma runtime, so that @prisma/client and its peers are development packages only. */
function bundlePrismaRuntime() {
  const target = join(bundledPackages, '@prisma', 'client');
  mkdirSync(join(target, 'runtime'), { recursive: true });
  for (const file of PRISMA_RUNTIME) copyFileSync(tool('@prisma', 'client', file), join(target, file));
  const { name, version, license } = JSON.parse(readIfThere(tool('@prisma', 'client', 'package.json')));
  const exports = { './runtime/client': './runtime/client.mjs', './runtime/*': './runtime/*' };
  writeFileSync(join(target, 'package.json'), JSON.stringify({ name, version, license, exports }, null, 2));
}

if (isMain(import.meta.url)) await prepare();
