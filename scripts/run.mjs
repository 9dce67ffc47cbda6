// Runs a program of dist/ after preparing what it needs: `node scripts/run.mjs dist/tests/demo/demo.js [arguments]`.
// The program runs in this process, so it receives the signals and the terminal, and sets the exit code.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endWithNpm } from './end-with-npm.mjs';
import { prepare, prepareService } from './prepare-service.mjs';
import { fail, isMain, root } from './steps.mjs';

/** @param file the program, relative to the project's folder: of the service in dist/service, or of the tests */
export async function runProgram(file, args) {
  endWithNpm();
  await (file.startsWith('dist/service/') ? prepareService() : prepare());
  const program = resolve(root, file);
  if (!existsSync(program)) fail(`${file} does not exist after the build.`);
  process.argv = [process.execPath, program, ...args];
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(program).href);
}

if (isMain(import.meta.url)) {
  const [file, ...args] = process.argv.slice(2);
  if (file === undefined) fail('usage: node scripts/run.mjs FILE [arguments]', 2);
  await runProgram(file, args);
}
