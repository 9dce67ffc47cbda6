// Applies patches/<package>+<version>.patch, unified diffs, to node_modules after each install: for tests and the service alike. A
// program for it would be 45 packages more, and npm runs no install scripts here.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fail, readIfThere, replaceFile, root } from './steps.mjs';

/** Applies what is not applied yet. Ends the script when a patch does not fit the installed package. */
export function applyPatches(folder = root) {
  const patches = join(folder, 'patches');
  for (const file of existsSync(patches) ? readdirSync(patches) : []) {
    const [, name, version] = /^(.+)\+([^+]+)\.patch$/.exec(file) ?? [];
    if (name === undefined) fail(`patches/${file}: its name is not <package>+<version>.patch.`);
    const home = join(folder, 'node_modules', ...name.split('+'));
    const installed = JSON.parse(readIfThere(join(home, 'package.json')) ?? '{}').version;
    if (installed !== version) {
      fail(
        `patches/${file} is for ${version}, and ${installed ?? 'no version'} is installed. Make a patch for that version, or remove it.`,
      );
    }
    try {
      for (const [path, hunks] of parsePatch(readIfThere(join(patches, file))))
        applyTo(join(home, path), hunks);
    } catch (error) {
      fail(`patches/${file} does not fit: ${error.message}. Run npm ci, make the patch again, or remove it.`);
    }
  }
}

/**
 * The changes of each file of a unified diff: the lines before and after, with those around them.
 * @returns {Map<string, Array<{ before: string, after: string }>>}
 * @throws {Error} the text is not a unified diff
 */
export function parsePatch(text) {
  const files = new Map();
  for (const part of text
    .replaceAll('\r\n', '\n')
    .split(/^--- .*\n\+\+\+ b\//m)
    .slice(1)) {
    const [path, ...hunks] = part.split(/\n?^@@ .*\n|\n(?=@@ )/m).filter((each) => each !== '');
    const sides = hunks.map((hunk) => {
      const lines = hunk.replace(/\n$/, '').split('\n');
      const side = (mark) =>
        lines.filter((line) => line[0] === ' ' || line[0] === mark).map((line) => `${line.slice(1)}\n`);
      return { before: side('-').join(''), after: side('+').join('') };
    });
    files.set(path.trim(), sides);
  }
  if (files.size === 0) throw new Error('it is not a unified diff');
  return files;
}

function applyTo(path, hunks) {
  const text = readIfThere(path);
  if (text === undefined) throw new Error(`${path} does not exist`);
  let patched = text;
  for (const { before, after } of hunks) {
    if (patched.split(after).length === 2) continue;
    if (patched.split(before).length !== 2) throw new Error(`${path} has other lines`);
    patched = patched.replace(before, () => after);
  }
  if (patched !== text) replaceFile(path, patched);
}
