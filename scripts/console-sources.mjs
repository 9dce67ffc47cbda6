// What the console is built from.
import { join } from 'node:path';
import { root } from './steps.mjs';

/** The hash of the sources of the built console. */
export const consoleStamp = join(root, 'dist', '.console-hash');

/** What the build of the console depends on. */
export const consoleSources = [
  join(root, 'console'),
  join(root, 'package-lock.json'),
  join(root, 'scripts', 'build-console.mjs'),
];
