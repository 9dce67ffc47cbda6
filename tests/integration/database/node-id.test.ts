import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nodeIdOf } from '../../../router/src/infra/storage/node-id.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'wa2ai data '));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

it('keeps the id of the node, and returns the same one to starts at the same time', async () => {
  const names = await Promise.all([1, 2, 3, 4, 5].map(() => nodeIdOf(dataDir)));
  expect(new Set(names).size).toBe(1);
  expect(await nodeIdOf(dataDir)).toBe(names[0]);
  expect(await readdir(dataDir)).toEqual(['node-id']);
});

it('names the folder that cannot be used', async () => {
  await writeFile(join(dataDir, 'file'), '');
  await expect(nodeIdOf(join(dataDir, 'file'))).rejects.toMatchObject({
    code: 'DATABASE_FOLDER',
    message: expect.stringContaining(join(dataDir, 'file', 'node-id')),
  });
});
