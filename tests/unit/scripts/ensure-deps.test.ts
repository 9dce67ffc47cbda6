import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const ALL = ['ci --include=dev'];
const LIGHT = [
  'ci --omit=dev',
  `install --workspace ${join('scripts', 'build-packages')} --include=dev --no-save`,
];

/** What `npm run build` installs, in a project with one package of the service, one of the build and one of the tests. */
describe('node scripts/ensure-deps.mjs --build', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wa2ai deps '));
    for (const name of ['ensure-deps.mjs', 'apply-patches.mjs', 'slim-proto.mjs', 'steps.mjs']) {
      cpSync(join(repositoryRoot, 'scripts', name), join(folder, 'scripts', name));
    }
    mkdirSync(join(folder, 'scripts/build-packages'));
    write('scripts/build-packages/package.json', { devDependencies: { builder: '1.0.0' } });
    write('package.json', { devDependencies: { builder: '1.0.0', tester: '1.0.0', shared: '1.0.0' } });
    write('package-lock.json', { packages: packagesOf('2.0.0', 'server', 'shared', 'builder', 'tester') });
    const log = JSON.stringify(join(folder, 'npm.log'));
    const npm = `require('fs').appendFileSync(${log}, process.argv.slice(2, -3).join(' ') + '\\n');`;
    writeFileSync(join(folder, 'npm.cjs'), npm);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(file: string, content: unknown): void {
    writeFileSync(join(folder, file), JSON.stringify(content));
  }

  /** Entries of a lock file; `shared` is a package that the service and the tests need. */
  function packagesOf(version: string, ...names: string[]) {
    return Object.fromEntries(
      names.map((name) => [
        `node_modules/${name}`,
        { version, ...(['builder', 'tester'].includes(name) && { dev: true }) },
      ]),
    );
  }

  function installed(version: string, ...names: string[]): void {
    for (const name of names) mkdirSync(join(folder, 'node_modules', name), { recursive: true });
    write('node_modules/.package-lock.json', { packages: packagesOf(version, ...names) });
  }

  /** The calls of npm that the script makes. */
  async function calls(): Promise<string[]> {
    const env = { ...process.env, npm_execpath: join(folder, 'npm.cjs') };
    await promisify(execFile)(process.execPath, [join(folder, 'scripts/ensure-deps.mjs'), '--build'], {
      env,
    });
    const log = join(folder, 'npm.log');
    return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  }

  it('installs the packages of the service and of the build in a new clone', async () => {
    expect(await calls()).toEqual(LIGHT);
  });

  it('installs nothing when both are there', async () => {
    installed('2.0.0', 'server', 'shared', 'builder');
    expect(await calls()).toEqual([]);
  });

  it('keeps to these two after a change of the lock file', async () => {
    installed('1.0.0', 'server', 'shared', 'builder');
    expect(await calls()).toEqual(LIGHT);
  });

  it('installs the packages of the tests too after a change of the lock file, where they were', async () => {
    installed('1.0.0', 'server', 'shared', 'builder', 'tester');
    expect(await calls()).toEqual(ALL);
  });
});
