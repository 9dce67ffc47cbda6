// What the scripts share. Nothing here, nor in any file that a script loads at its start, needs node_modules: the
// first thing some of them do is to install it.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. Its name may contain spaces. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

/** Prints progress for the user to stderr; results go to stdout. */
export function say(sentence) {
  process.stderr.write(`wa2ai: ${sentence}\n`);
}

/** Ends the script with a sentence. */
export function fail(sentence, code = 1) {
  endLine();
  say(sentence);
  process.exit(code);
}

let isLineOpen = false;

/** Runs one step of a preparation and prints one line: its name, and how long it took. */
export async function step(name, work) {
  const beganMs = performance.now();
  process.stderr.write(`wa2ai: ${name} ... `);
  isLineOpen = true;
  try {
    const result = await work();
    if (isLineOpen) process.stderr.write(`${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
    return result;
  } finally {
    endLine();
  }
}

function endLine() {
  if (isLineOpen) process.stderr.write('\n');
  isLineOpen = false;
}

/** Ends the script when Node is older than package.json asks for. */
export function checkNode() {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const wanted = engines.node.replace('>=', '').split('.').map(Number);
  const found = process.versions.node.split('.').map(Number);
  const difference = wanted.map((part, index) => found[index] - part).find((part) => part !== 0) ?? 0;
  if (difference < 0) fail(`Node ${engines.node} is needed, and this is ${process.versions.node}.`);
}

/** Path of a program inside node_modules, as a script for this same Node. */
export function tool(...path) {
  return join(root, 'node_modules', ...path);
}

/**
 * Runs a program to its end.
 * @param options.quiet output is kept and returned instead of shown
 * @returns {Promise<{code: number, output: string}>} code 1 when a signal ended it or it could not be started
 */
export function run(program, args, { cwd = root, env = {}, quiet = false, shell = false } = {}) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      shell,
      windowsHide: true,
    });
    child.stdout?.on('data', (chunk) => (output += chunk));
    child.stderr?.on('data', (chunk) => (output += chunk));
    child.once('error', (error) => resolve({ code: 1, output: `${output}${error.message}\n` }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/** The same for a script of this Node. */
export function runNode(script, args, options) {
  return run(process.execPath, [script, ...args], options);
}

/** Text of a file, or undefined when there is none. */
export function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Replaces a file of a package. Package managers may share the old file with other folders, so it is not written. */
export function replaceFile(path, text) {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** sha256 over names and contents of files; folders are read through, a missing one counts as empty. */
export function hashOf(paths, keep = () => true) {
  const hash = createHash('sha256');
  for (const file of paths.flatMap(filesIn).filter(keep).sort()) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex');
}

/** sha256 over names, sizes and times of files, without reading them; folders are read through. */
export function looksOf(paths) {
  let looks = '';
  for (const file of paths.flatMap(filesIn).sort()) {
    const { size, mtimeMs } = statSync(file);
    // each start does this: path.relative takes as long as statSync
    looks += `${file.slice(root.length)}\0${size}\0${mtimeMs}\0`;
  }
  return createHash('sha256').update(looks).digest('hex');
}

/** Every file in a folder and its subfolders; a file gives itself, what is missing gives none. */
export function filesIn(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isDirectory() ? filesInFolder(path) : [path];
}

/** The option `recursive` of readdirSync takes ten times as long. */
function filesInFolder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder + sep + entry.name;
    if (entry.isDirectory()) return filesInFolder(path);
    return entry.isFile() ? [path] : [];
  });
}

/** Whether this file is the program that Node was started with, not an import of another one. */
export function isMain(url) {
  // the path that was typed may lead through a symbolic link; Node's own name for the file never does
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(url));
}
