import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  canReach,
  chooseServerUser,
} from '../../../../../router/src/infra/storage/embedded/postgres-user.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
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
      await chown(folder, NOBODY, NOBODY);
      expect(await chooseServerUser(join(folder, 'data'), folder)).toEqual({ uid: NOBODY, gid: NOBODY });
    });

    it('chooses an account for daemons when the folder belongs to root, or to a user without an account', async () => {
      const ofRoot = await chooseServerUser(join(folder, 'data'), folder);
      expect(ofRoot?.uid).toBeGreaterThan(0);
      await chown(folder, UNKNOWN.uid, UNKNOWN.gid);
      expect(await chooseServerUser(join(folder, 'data'), folder)).toEqual(ofRoot);
    });

    it('chooses another owner for a database whose files root restored', async () => {
      const data = join(folder, 'data');
      await mkdir(data);
      await chown(folder, NOBODY, NOBODY);
      expect(await chooseServerUser(data, folder)).toEqual({ uid: NOBODY, gid: NOBODY });
    });
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
