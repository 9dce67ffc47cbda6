import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { repositoryRoot } from '../support/repository.ts';

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ optionalDependencies: z.record(z.string(), z.string()).optional() }),
  ),
});

/** Where Node would find `name` from the package at `path`, among the paths of a lock file. */
function isLocked(paths: Set<string>, path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    if (paths.has(`${folder === '' ? '' : `${folder}/`}node_modules/${name}`)) return true;
    if (folder === '') return false;
  }
}

it.each(['package-lock.json', 'tests/adk-server/package-lock.json'])(
  '%s contains the packages of each platform, which npm ci requires',
  (file) => {
    const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(repositoryRoot, file), 'utf8')));
    const paths = new Set(Object.keys(packages));
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {}).filter((name) => !isLocked(paths, path, name)),
    );
    expect(missing).toEqual([]);
  },
);

it('scripts/build-packages/package.json names the versions of package.json', () => {
  const named = z.object({ devDependencies: z.record(z.string(), z.string()) });
  const [build, all] = ['scripts/build-packages/package.json', 'package.json'].map(
    (file) => named.parse(JSON.parse(readFileSync(join(repositoryRoot, file), 'utf8'))).devDependencies,
  );
  expect(Object.keys(build ?? {})).toContain('rolldown');
  expect(all).toMatchObject(build ?? {});
});
