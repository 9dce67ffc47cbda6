import { type Dirent, existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { repositoryRoot } from '../support/repository.ts';

const MAX_MEGABYTES = 190;

const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })),
});

/** Paths of the packages that `npm ci --omit=dev` installs on this platform. */
function productionPackages(): string[] {
  const lock = lockSchema.parse(JSON.parse(readFileSync(join(repositoryRoot, 'package-lock.json'), 'utf8')));
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && entry.dev !== true && existsSync(join(repositoryRoot, path)))
    .map(([path]) => path);
}

/** Bytes that a package uses on disk, in blocks of 4 KiB as `du` counts them, without packages nested in it. */
function sizeOf(folder: string): number {
  const sizes = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules')
    .map((entry: Dirent) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? sizeOf(path) : Math.ceil(lstatSync(path).size / 4096) * 4096;
    });
  return sizes.reduce((sum, size) => sum + size, 4096);
}

describe('npm ci --omit=dev', () => {
  it(`installs less than ${MAX_MEGABYTES} MB`, () => {
    const packages = productionPackages();
    const bytes = packages.map((path) => sizeOf(join(repositoryRoot, path)));
    const megabytes = bytes.reduce((sum, size) => sum + size, 0) / 2 ** 20;
    expect(packages).toContain('node_modules/pg');
    expect(megabytes).toBeGreaterThan(100);
    expect(megabytes).toBeLessThan(MAX_MEGABYTES);
  });

  it('installs neither Prisma, nor TypeScript, nor what they pull in', () => {
    const names = productionPackages().map((path) => path.replace(/^.*node_modules\//, ''));
    expect(names.filter((name) => name.includes('prisma'))).toEqual([]);
    for (const name of ['typescript', 'effect', 'react-dom', 'elkjs']) expect(names).not.toContain(name);
  });
});
