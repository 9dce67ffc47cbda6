import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { measureBackup } from '../support/measured-backup.ts';

const databases: TestDatabase[] = [];
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(databases.splice(0).map((database) => database.drop()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

async function measure(messages: number, mediaMb: number) {
  const [source, target, folder] = await Promise.all([
    createTestDatabase(),
    createTestDatabase({ template: 'empty' }),
    mkdtemp(join(tmpdir(), 'wa2ai-backup-memory-')),
  ]);
  databases.push(source, target);
  folders.push(folder);
  return await measureBackup({ databaseUrl: source.url, targetUrl: target.url, messages, mediaMb, folder });
}

it('a backup and its restore need no more memory for ten times as much', { timeout: 400_000 }, async () => {
  const small = await measure(2_000, 12);
  const large = await measure(20_000, 120);
  expect(large.fileMb / small.fileMb).toBeGreaterThan(8);
  for (const command of ['backup', 'restore'] as const) {
    expect(small[command].peakMb).toBeGreaterThan(50);
    // 100 MB more of files: what grows is the garbage that the runtime has not collected yet.
    expect(large[command].peakMb - small[command].peakMb, command).toBeLessThan(70);
  }
});
