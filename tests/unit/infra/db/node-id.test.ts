import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeIdOf } from '../../../../router/src/infra/db/database.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'wa2ai data '));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

describe('nodeIdOf', () => {
  it('creates the name once, and returns the same one to concurrent calls', async () => {
    const names = await Promise.all([1, 2, 3, 4, 5].map(() => nodeIdOf(dataDir)));
    expect(new Set(names).size).toBe(1);
    expect(await nodeIdOf(dataDir)).toBe(names[0]);
    expect(await readdir(dataDir)).toEqual(['node-id']);
  });

  it('throws an error that names the folder when it cannot be used', async () => {
    await writeFile(join(dataDir, 'file'), '');
    await expect(nodeIdOf(join(dataDir, 'file'))).rejects.toMatchObject({
      code: 'DATABASE_FOLDER',
      message: expect.stringContaining(join(dataDir, 'file', 'node-id')),
    });
  });

  it('refuses a file without a name instead of using an empty one', async () => {
    await writeFile(join(dataDir, 'node-id'), ' \n');
    await expect(nodeIdOf(dataDir)).rejects.toMatchObject({
      code: 'DATABASE_FOLDER',
      message: expect.stringMatching(/the file is empty\. Set WA2AI_DATA_DIR .* or WA2AI_NODE_ID to a name/),
    });
  });

  it('ignores the line end of a file that an operator wrote', async () => {
    await writeFile(join(dataDir, 'node-id'), 'node-sales\n');
    expect(await nodeIdOf(dataDir)).toBe('node-sales');
  });
});
