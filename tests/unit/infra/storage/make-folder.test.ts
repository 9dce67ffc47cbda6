import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder } from '../../../../router/src/infra/storage/make-folder.ts';

describe('makeFolder', () => {
  let parent: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'wa2ai-folder-'));
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('creates missing parents, and accepts a folder that exists', async () => {
    const path = join(parent, 'a', 'b', 'c');
    await Promise.all([makeFolder(path), makeFolder(path)]);
    await makeFolder(path);
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  it('refuses a path that is a file, or below one', async () => {
    const file = join(parent, 'file');
    await writeFile(file, '');
    await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(join(file, 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.runIf(process.platform === 'linux')('ends with an error where no folder can be created', async () => {
    await expect(makeFolder('/proc/x')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(makeFolder('/proc/x/y/z')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
