// Makes what the image contains smaller, in its build:  node scripts/slim-image.mjs FILE
// - node_modules: packages outside of the bundle stay, and what they depend on, without files for programmers. Of packages in
//   the bundle manifest and licence stay: scanners find packages by manifests, and who gets the image must get the licences.
// - FILE becomes a copy of this Node without symbols for debuggers.
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isExternal, service } from './bundle.mjs';
import { fail, filesIn, root, say } from './steps.mjs';

/** Source maps, TypeScript, C, static libraries and texts: no program opens one. */
const FOR_PROGRAMMERS = /\.(map|[cm]?ts|tsbuildinfo|a|h|cc?|gypi?|md)$/;
/** Test data of 7 MB that superjson publishes. */
const TEST_DATA = join('superjson', 'src');
const MANIFEST_OR_LICENCE = /^(package\.json$|licen[cs]e|copying|notice)/i;

const modules = join(root, 'node_modules');
/** Npm's record of what is installed: paths of packages with their dependencies. */
const installed = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')).packages;

const [target] = process.argv.slice(2);
if (target === undefined) fail('usage: node scripts/slim-image.mjs FILE', 2);
slimPackages();
writeFileSync(target, withoutSymbols(readFileSync(process.execPath)));
chmodSync(target, 0o755);

function slimPackages() {
  const before = filesIn(modules).length;
  const loaded = loadedPackages();
  refuseMissing(loaded);
  for (const [path, { link }] of Object.entries(installed)) {
    const folder = join(root, path);
    // a folder of the repository, of which the image has the bundle only
    if (link === true) rmSync(folder, { force: true });
    else if (loaded.has(path)) removeFiles(folder, (file) => FOR_PROGRAMMERS.test(file));
    else removeFiles(folder, () => true);
  }
  // fails when the package no longer has it
  rmSync(join(modules, TEST_DATA), { recursive: true });
  rmSync(join(modules, '.bin'), { recursive: true, force: true });
  say(`kept ${loaded.size} packages and ${filesIn(modules).length} of ${before} files in node_modules`);
}

/** Paths of the packages that the bundle leaves in node_modules, and of all that these depend on. */
function loadedPackages() {
  const found = new Set();
  const add = (path) => {
    if (path === undefined || found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = installed[path];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      add(resolvedFrom(path, name));
    }
  };
  for (const path of Object.keys(installed)) {
    if (isExternal(path.replace(/^node_modules\//, ''))) add(path);
  }
  return found;
}

/** The package that Node finds by its name from the one at `path`; none when it is optional, or for another platform. */
function resolvedFrom(path, name) {
  for (
    let folder = `${path}/`;
    ;
    folder = folder.slice(0, folder.lastIndexOf('node_modules/', folder.length - 2))
  ) {
    const candidate = `${folder}node_modules/${name}`;
    if (installed[candidate] !== undefined) return candidate;
    if (folder === '') return undefined;
  }
}

/** Ends the build when the service loads a package that would lack its files. */
function refuseMissing(loaded) {
  for (const program of filesIn(service).filter((file) => /\.[cm]?js$/.test(file))) {
    for (const name of namesLoadedBy(readFileSync(program, 'utf8'))) {
      const path = `node_modules/${name}`;
      if (installed[path] !== undefined && !loaded.has(path)) {
        fail(`${program} loads the package ${name}. Name it in EXTERNAL of scripts/bundle.mjs.`);
      }
    }
  }
}

/** Names of packages in imports, and in calls of `import`, `require`, `resolve` and what `createRequire` returns. */
function namesLoadedBy(text) {
  const calls = text.matchAll(
    /(?:\b(?:import|resolve)|[rR]equire(?:\([\w.]+\))?)\(\s*(["'`])([^"'`$.][^"'`$]*)\1\s*\)/g,
  );
  const statements = text.matchAll(/\b(?:from|import)\s*(["'])([^"'.][^"']*)\1/g);
  return [...calls, ...statements].flatMap(([, , specifier]) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier) ?? []);
}

/** Removes files of a package but its manifest and licence, none of packages nested in it, and folders that become empty. */
function removeFiles(folder, isNeedless, isTop = true) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeFiles(path, isNeedless, false);
    else if (isNeedless(entry.name) && !(isTop && MANIFEST_OR_LICENCE.test(entry.name))) rmSync(path);
  }
  if (!isTop && readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
}

/**
 * An ELF program without what follows its segments: symbols for debuggers and the table of sections, which no loader reads. The
 * program `strip` does the same and would have to be installed from Debian.
 */
function withoutSymbols(program) {
  if (program.readUInt32BE(0) !== 0x7f454c46 || program[4] !== 2 || program[5] !== 1) {
    fail('this Node is not a 64-bit little-endian ELF program.');
  }
  const stripped = Buffer.from(program);
  const segments = Number(program.readBigUInt64LE(0x20));
  const [size, count] = [0x36, 0x38].map((offset) => program.readUInt16LE(offset));
  let end = segments + size * count;
  for (let header = segments; header < segments + size * count; header += size) {
    const [offset, length] = [8, 0x20].map((field) => Number(program.readBigUInt64LE(header + field)));
    end = Math.max(end, offset + length);
  }
  // no sections: offset, count, and the index of their names
  stripped.writeBigUInt64LE(0n, 0x28);
  stripped.writeUInt32LE(0, 0x3c);
  return stripped.subarray(0, end);
}
