import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PostgresBinaries } from '../../../../../router/src/infra/db/embedded/postgres-binaries.ts';
import {
  type ServerFolder,
  serverFolder,
} from '../../../../../router/src/infra/db/embedded/postgres-folder.ts';
import {
  createCluster,
  launchServer,
  stopServerProcess,
} from '../../../../../router/src/infra/db/embedded/postgres-server.ts';
import { until } from '../../../../support/until.ts';

let parent: string;
let folder: ServerFolder;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'wa2ai-server-'));
  folder = serverFolder(join(parent, 'database'));
  await mkdir(folder.data, { recursive: true });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(parent, { recursive: true, force: true });
});

/** Shell scripts in the place of PostgreSQL's programs. */
async function programs(scripts: { initdb?: string; postgres?: string }): Promise<PostgresBinaries> {
  const path = (name: string) => join(parent, name);
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(path(name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const [initdb, postgres, pgCtl] = [path('initdb'), path('postgres'), path('pg_ctl')];
  return { root: parent, initdb, postgres, pgCtl, version: '18.0.0', major: 18 };
}

describe.skipIf(process.platform === 'win32')('createCluster', () => {
  it('passes the password in a private file, and creates the database of wa2ai', async () => {
    const binaries = await programs({
      initdb: `echo "$@" > ${parent}/arguments`,
      postgres: `cat > ${parent}/statements`,
    });
    await createCluster(folder, binaries, undefined, 'hunter2');
    expect(await readFile(folder.password, 'utf8')).toBe('hunter2');
    expect((await stat(folder.password)).mode & 0o777).toBe(0o600);
    const given = await readFile(join(parent, 'arguments'), 'utf8');
    expect(given).not.toContain('hunter2');
    expect(given).toContain('--auth scram-sha-256');
    expect(await readFile(join(parent, 'statements'), 'utf8')).toBe('CREATE DATABASE wa2ai\n');
  });

  it.each([
    [
      'the messages of a program that failed',
      `echo 'creating directory ... ok'; echo 'initdb: error: no space' >&2; echo 'hint: remove it.' >&2; exit 3`,
      'The database could not be created (exit code 3): error: no space; hint: remove it.',
    ],
    [
      'the last line of a program that failed without a message',
      `echo one; echo 'two   words'; echo; exit 1`,
      'The database could not be created (exit code 1): two words.',
    ],
  ])('quotes %s', async (_case, initdb, message) => {
    const binaries = await programs({ initdb, postgres: 'exit 0' });
    await expect(createCluster(folder, binaries, undefined, 'x')).rejects.toMatchObject({
      code: 'DATABASE_START',
      message,
    });
  });

  it('names a program that is missing', async () => {
    await expect(createCluster(folder, await programs({}), undefined, 'x')).rejects.toMatchObject({
      code: 'DATABASE_START',
      message: expect.stringMatching(/initdb could not be started \(ENOENT\)\. Run "npm ci" again/),
    });
  });
});

describe.skipIf(process.platform === 'win32')('launchServer', () => {
  async function launchAndEnd(postgres: string, settings: Record<string, string> = {}): Promise<string> {
    const launched = await launchServer(folder, await programs({ postgres }), undefined, 5499, settings);
    return until('the end of the server', async () => launched.ended());
  }

  it('passes the settings, of which those of the caller win, and no variable of this process', async () => {
    vi.stubEnv('DATABASE_URL', 'postgresql://u:hunter2@h/d');
    await launchAndEnd('echo "$@"; env', { fsync: 'off' });
    const log = await readFile(folder.log, 'utf8');
    expect(log).toContain(`-D ${folder.data} `);
    expect(log).toContain('-c listen_addresses=127.0.0.1 ');
    expect(log).toContain('-c fsync=off ');
    expect(log).not.toContain('fsync=on');
    expect(log).toMatch(/-c port=5499$/m);
    expect(log).not.toContain('hunter2');
    expect((await stat(folder.log)).mode & 0o777).toBe(0o600);
  });

  it('reports why the server ended with the messages of this start only', async () => {
    await writeFile(folder.log, `2026-01-01 [1] FATAL:  of an earlier start in ${'ñ'.repeat(200)}\n`);
    expect(
      await launchAndEnd(
        `echo '2026-01-02 [2] LOG:  starting'; echo '2026-01-02 [2] FATAL:  could not bind'`,
      ),
    ).toBe('FATAL: could not bind');
  });

  it('reports the exit code of a server that wrote nothing', async () => {
    expect(await launchAndEnd('exit 7')).toBe('exit code 7');
  });

  it('reports nothing while the server runs, and stops it with a signal', async () => {
    const binaries = await programs({ postgres: 'exec sleep 600' });
    const launched = await launchServer(folder, binaries, undefined, 5499, {});
    expect(launched.ended()).toBeUndefined();
    stopServerProcess(launched.pid ?? 0, 'fast', folder, binaries);
    expect(await until('the end of the server', async () => launched.ended())).toBe('exit code null');
  });

  it('keeps one former log when the log is longer than a megabyte', async () => {
    await writeFile(folder.log, 'x'.repeat(1_000_000));
    await launchAndEnd('exit 0');
    expect(existsSync(`${folder.log}.1`)).toBe(false);
    await writeFile(folder.log, 'x'.repeat(1_000_001));
    await launchAndEnd('exit 0');
    expect((await stat(`${folder.log}.1`)).size).toBe(1_000_001);
    expect((await stat(folder.log)).size).toBe(0);
  });

  it('names a program that is missing', async () => {
    await expect(launchServer(folder, await programs({}), undefined, 5499, {})).rejects.toMatchObject({
      code: 'DATABASE_START',
      message: expect.stringMatching(/postgres could not be started \(ENOENT\)/),
    });
  });
});

describe.skipIf(process.platform === 'win32')('stopServerProcess', () => {
  it.each([
    ['fast', 'SIGINT'],
    ['immediate', 'SIGQUIT'],
  ] as const)('stops a server (%s) with %s', async (mode, expected) => {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const exit = once(child, 'exit');
    stopServerProcess(child.pid ?? 0, mode, folder, await programs({}));
    expect(await exit).toEqual([null, expected]);
  });

  it('does nothing when the server has ended', async () => {
    const binaries = await programs({});
    expect(() => stopServerProcess(999_999_999, 'fast', folder, binaries)).not.toThrow();
  });
});
