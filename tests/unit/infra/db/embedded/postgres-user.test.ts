import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { canReach, chooseServerUser } from '../../../../../router/src/infra/db/embedded/postgres-binaries.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
/** An account that exists on every machine and is not shared as `nobody` is. */
const DAEMON = 1;
const ACCOUNTS = 'root:x:0:0:::\ndaemon:x:1:1:::\nnobody:x:65534:65534:::\n';
/** A user without an account. */
const UNKNOWN = { uid: 47_110, gid: 47_111 };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-user-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe.skipIf(process.platform === 'win32')('chooseServerUser', () => {
  it('keeps the user of this process unless that is root', async () => {
    vi.spyOn(process, 'getuid').mockReturnValue(1000);
    expect(await chooseServerUser(join(folder, 'data'), folder)).toBeUndefined();
  });

  describe.runIf(isRoot)('as root', () => {
    it('keeps the owner of an existing database, also one without an account', async () => {
      const data = join(folder, 'data');
      await mkdir(data);
      await chown(data, UNKNOWN.uid, UNKNOWN.gid);
      await chown(folder, NOBODY, NOBODY);
      expect(await chooseServerUser(data, folder)).toEqual(UNKNOWN);
    });

    it('chooses the owner of the folder for a new database', async () => {
      const accounts = await accountsFile('');
      await chown(folder, DAEMON, DAEMON);
      expect(await chooseServerUser(join(folder, 'data'), folder, accounts)).toEqual({
        uid: DAEMON,
        gid: DAEMON,
      });
    });

    it.each([
      ['root', 0],
      ['a user without an account', UNKNOWN.uid],
      ['nobody', NOBODY],
    ])('chooses the account of PostgreSQL when the folder belongs to %s', async (_owner, uid) => {
      const accounts = await accountsFile('postgres:x:26:27:::\n');
      await chown(folder, uid, uid);
      expect(await chooseServerUser(join(folder, 'data'), folder, accounts)).toEqual({ uid: 26, gid: 27 });
    });

    it.each([
      ['root', 0],
      ['nobody', NOBODY],
    ])(
      'never chooses nobody, whose programs could read the database; the folder belongs to %s',
      async (_owner, uid) => {
        const accounts = await accountsFile('');
        await chown(folder, uid, uid);
        await expect(chooseServerUser(join(folder, 'data'), folder, accounts)).rejects.toMatchObject({
          code: 'DATABASE_START',
          message: expect.stringContaining('useradd --system'),
        });
      },
    );

    it('chooses another owner for a database whose files root restored', async () => {
      const data = join(folder, 'data');
      await mkdir(data);
      await chown(folder, DAEMON, DAEMON);
      const accounts = await accountsFile('');
      expect(await chooseServerUser(data, folder, accounts)).toEqual({ uid: DAEMON, gid: DAEMON });
    });

    async function accountsFile(more: string): Promise<string> {
      const path = join(folder, 'passwd');
      await writeFile(path, `${ACCOUNTS}${more}`);
      return path;
    }
  });
});

describe.skipIf(process.platform === 'win32')('canReach', () => {
  let file: string;
  beforeEach(async () => {
    await mkdir(join(folder, 'a'));
    file = join(folder, 'a', 'file');
    await writeFile(file, '');
    await chmod(folder, 0o755);
    await chmod(join(folder, 'a'), 0o755);
    await chmod(file, 0o644);
  });

  it('is true when everybody may enter the folders and read the file', async () => {
    expect(await canReach(UNKNOWN, file)).toBe(true);
  });

  it.each([
    ['the file is private', '.', 0o755, 'a/file', 0o600],
    ['a folder above it is private', '.', 0o700, 'a/file', 0o644],
    ['a folder above it may be listed but not entered', 'a', 0o744, 'a/file', 0o644],
  ])('is false when %s', async (_case, inner, innerMode, outer, outerMode) => {
    await chmod(join(folder, outer), outerMode);
    await chmod(join(folder, inner), innerMode);
    expect(await canReach(UNKNOWN, file)).toBe(false);
  });

  it('applies the permissions of the owner to the owner, and of the group to the group', async () => {
    const { uid, gid } = await stat(file);
    await chmod(file, 0o400);
    expect(await canReach({ uid, gid: UNKNOWN.gid }, file)).toBe(true);
    expect(await canReach({ uid: UNKNOWN.uid, gid }, file)).toBe(false);
    await chmod(file, 0o040);
    expect(await canReach({ uid: UNKNOWN.uid, gid }, file)).toBe(true);
    expect(await canReach({ uid, gid }, file)).toBe(false);
  });

  it('follows symbolic links to the folders that matter', async () => {
    const link = join(folder, 'link');
    await symlink(join('a', 'file'), link);
    expect(await canReach(UNKNOWN, link)).toBe(true);
    await chmod(join(folder, 'a'), 0o700);
    expect(await canReach(UNKNOWN, link)).toBe(false);
  });
});
