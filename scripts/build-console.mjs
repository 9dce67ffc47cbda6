// Builds the console (console/) to dist/console when its sources changed: with hashed names, compressed in advance.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { consoleSources, consoleStamp } from './console-sources.mjs';
import { filesIn, hashOf, readIfThere, root, step } from './steps.mjs';

/** The folder of the built console. */
export const consoleFolder = join(root, 'dist', 'console');
const sources = join(root, 'console');

/** Whether dist/console is that of the sources. */
export function isConsoleBuilt() {
  return readIfThere(consoleStamp) === consoleHash();
}

/** Resolves when dist/console is that of the sources. */
export async function buildConsole() {
  const hash = consoleHash();
  if (readIfThere(consoleStamp) === hash) return;
  rmSync(consoleStamp, { force: true });
  await step('building the console', bundleConsole);
  writeFileSync(consoleStamp, hash);
}

async function bundleConsole() {
  // a development package: a production start has none
  const { build } = await import('vite');
  await build({ configFile: join(sources, 'vite.config.mjs') });
  for (const file of filesIn(consoleFolder)) compress(file);
}

function consoleHash() {
  return hashOf(consoleSources, (file) => !file.includes('generated'));
}

function compress(file) {
  const bytes = readFileSync(file);
  const params = { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}
