import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFile, makeFolder, readIfThere } from '../../../../router/src/infra/db/files.ts';

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'wa2ai-folder-'));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

describe('makeFolder', () => {
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

describe('createFile', () => {
  it('returns the same text from concurrent calls, and leaves one file', async () => {
    const path = join(parent, 'key');
    const texts = await Promise.all(['a', 'b', 'c'].map((text) => createFile(path, text, 0o600)));
    expect(new Set(texts).size).toBe(1);
    expect(await readIfThere(path)).toBe(texts[0]);
    expect(await readdir(parent)).toEqual(['key']);
  });

  it('never replaces a file', async () => {
    const path = join(parent, 'key');
    await writeFile(path, 'first');
    expect(await createFile(path, 'second')).toBe('first');
  });
});

describe('readIfThere', () => {
  it('is undefined for a missing file, and throws any other error', async () => {
    expect(await readIfThere(join(parent, 'none'))).toBeUndefined();
    await expect(readIfThere(parent)).rejects.toMatchObject({ code: 'EISDIR' });
  });
});
