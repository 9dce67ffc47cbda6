import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  chownFolder,
  findFreePort,
  mayBePostgres,
  openFolder,
  readPidFile,
  removeStalePidFile,
  removeUnfinished,
  type ServerFolder,
  serverFolder,
} from '../../../../../router/src/infra/db/embedded/postgres-folder.ts';
import { unusedPort } from '../../../../support/unused-port.ts';

const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
/** Larger than the process ids of Linux and macOS. */
const DEAD_PID = 999_999_999;
const STRANGER = { uid: 47_110, gid: 47_111 };

let parent: string;
let folder: ServerFolder;
let pidFile: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'wa2ai-postgres-'));
  folder = serverFolder(join(parent, 'postgres'));
  pidFile = join(folder.data, 'postmaster.pid');
  await mkdir(folder.data, { recursive: true });
});
afterEach(() => rm(parent, { recursive: true, force: true }));

describe('the file of a process id', () => {
  it.each([
    ['a running server', '4711\n/data\n1700000000\n5433\n\n127.0.0.1\n', 4711, 5433],
    ['a server that has not opened its port', '4711\n/data\n1700000000\n', 4711, undefined],
    ['a port that is not written completely', '4711\n/data\n1700000000\n\n', 4711, undefined],
    ['an empty file', '', 0, undefined],
  ])('reads the file of %s', async (_case, text, pid, port) => {
    await writeFile(pidFile, text);
    expect(await readPidFile(folder)).toEqual({ text, pid, port });
  });
});

describe('readPidFile', () => {
  it('is undefined when no server runs', async () => {
    expect(await readPidFile(folder)).toBeUndefined();
    await writeFile(pidFile, '4711\n/data\n1700000000\n5433\n');
    expect(await readPidFile(folder)).toMatchObject({ pid: 4711, port: 5433 });
  });
});

describe('removeStalePidFile', () => {
  it('removes the file that was read, and not the one of a server that started since', async () => {
    await writeFile(pidFile, '4711\n');
    const stale = { text: '4711\n', pid: 4711, port: undefined };
    await writeFile(pidFile, '4712\n');
    await removeStalePidFile(folder, stale);
    expect(await readFile(pidFile, 'utf8')).toBe('4712\n');
    await removeStalePidFile(folder, { text: '4712\n', pid: 4712, port: undefined });
    expect(existsSync(pidFile)).toBe(false);
    await removeStalePidFile(folder, stale);
  });
});

describe('mayBePostgres', () => {
  it('is false for a process that does not run', async () => {
    expect(await mayBePostgres(DEAD_PID)).toBe(false);
  });

  it.runIf(isLinux)('is false for a process of another program, also of another user', async () => {
    expect(await mayBePostgres(process.pid)).toBe(false);
    expect(await mayBePostgres(1)).toBe(false);
  });
});

describe('findFreePort', () => {
  it('returns the wanted port when it is free, and another one when it is taken', async () => {
    const port = await unusedPort();
    expect(await findFreePort(port)).toBe(port);
    const taken = createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const other = await findFreePort(port);
    expect(other).not.toBe(port);
    expect(other).toBeGreaterThan(0);
    await new Promise((resolve) => taken.close(resolve));
  });
});

describe('openFolder', () => {
  it('uses the path when the server has the user of this process, or its user can enter', async () => {
    for (const user of [undefined, STRANGER]) {
      await chmod(parent, 0o755);
      const access = await openFolder(folder, user);
      expect(access).toMatchObject({ root: folder.root, handle: 'ignore' });
      await access.close();
    }
  });

  it.runIf(isLinux)('uses a descriptor below a private folder, and changes no permission', async () => {
    await chmod(parent, 0o700);
    const access = await openFolder(folder, STRANGER);
    try {
      expect(access).toMatchObject({ root: '/proc/self/fd/3', handle: expect.any(Number) });
      expect((await stat(`/proc/self/fd/${access.handle}`)).ino).toBe((await stat(folder.root)).ino);
    } finally {
      await access.close();
    }
    expect((await stat(parent)).mode & 0o777).toBe(0o700);
  });
});

describe('removeUnfinished', () => {
  const PREFIX = 'postgres.tmp-';

  it('removes what dead starts left, and nothing of a running one', async () => {
    const names = {
      removed: [`${PREFIX}${DEAD_PID}-aa`, `${PREFIX}${process.ppid}-old`],
      kept: [
        'data',
        'postgres',
        `${PREFIX}x-aa`,
        `${PREFIX}${process.pid}-aa`,
        `${PREFIX}${process.pid}-old`,
        `${PREFIX}${process.ppid}-aa`,
      ],
    };
    const hourAgo = new Date(Date.now() - 3_600_000);
    for (const name of [...names.removed, ...names.kept]) {
      await mkdir(join(parent, name, 'data'), { recursive: true });
      if (name.endsWith('-old')) await utimes(join(parent, name), hourAgo, hourAgo);
    }
    await removeUnfinished(parent, PREFIX);
    for (const name of names.removed) expect(existsSync(join(parent, name)), name).toBe(false);
    for (const name of names.kept) expect(existsSync(join(parent, name)), name).toBe(true);
  });
});

describe.runIf(isRoot)('chownFolder', () => {
  it('changes the owner of everything inside, and of no file that a link leads to', async () => {
    const outside = join(parent, 'outside');
    await writeFile(outside, '');
    await mkdir(join(folder.data, 'base'));
    await writeFile(join(folder.data, 'base', '1'), '');
    await symlink(outside, join(folder.data, 'link'));
    await chmod(folder.data, 0o755);
    await chownFolder(STRANGER, folder.data);
    for (const name of ['', 'base', 'base/1', 'link']) {
      expect(await lstat(join(folder.data, name)), name).toMatchObject(STRANGER);
    }
    expect((await stat(outside)).uid).toBe(0);
    expect((await stat(folder.data)).mode & 0o777).toBe(0o700);
  });
});
