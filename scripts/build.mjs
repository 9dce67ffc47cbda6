// Compiles router/ and the programs under tests/ to dist/, when something changed since.
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ensureDeps } from './ensure-deps.mjs';
import { generateClient } from './prisma.mjs';
import { checkNode, fail, filesIn, hashOf, isMain, readIfThere, root, runNode, say, tool } from './steps.mjs';

const dist = join(root, 'dist');
const stamp = join(dist, '.source-hash');
const config = join(root, 'tsconfig.build.json');

/** Resolves when dist/ is that of the sources; a second call costs some milliseconds. */
export async function build() {
  await generateClient();
  const { include } = JSON.parse(readIfThere(config));
  const folders = include.map((folder) => join(root, folder));
  const hash = hashOf(
    [...folders, config, join(root, 'tsconfig.json'), join(root, 'package-lock.json')],
    isSource,
  );
  if (readIfThere(stamp) === hash) return;
  say('building');
  rmSync(stamp, { force: true });
  const { code, output } = await runNode(
    tool('typescript', 'bin', 'tsc'),
    ['-p', config, '--pretty', 'false'],
    {
      quiet: true,
    },
  );
  if (code !== 0) fail(`the build failed:\n${output}`);
  copyAssets(folders);
  removeOrphans();
  writeFileSync(stamp, hash);
}

/** Prepares whatever a program in dist/ needs: packages, database client, build. */
export async function prepare() {
  checkNode();
  await ensureDeps();
  await build();
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

/** What was built from a source that is no more must not be found by an import. */
function removeOrphans() {
  for (const file of filesIn(dist)) {
    const source = join(root, relative(dist, file));
    const candidates = [source, source.replace(/\.js(\.map)?$/, '.ts')];
    if (file !== stamp && !candidates.some((path) => existsSync(path) && statSync(path).isFile()))
      rmSync(file);
  }
}

if (isMain(import.meta.url)) await prepare();
