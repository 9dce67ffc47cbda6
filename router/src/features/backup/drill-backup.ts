import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RestoreOptions, RestoreReport } from './restore-backup.ts';
import { restoreBackup } from './restore-backup.ts';

/**
 * Restores a backup into a temporary database, compares every row, and removes the database. This shows that this version can
 * restore the file. It touches neither the service nor its database.
 * @param tempDir where the temporary database is; it needs as much space as the restored one
 * @throws as `restoreBackup`
 */
export async function drillBackup(
  options: Omit<RestoreOptions, 'config' | 'mayReplace'>,
  tempDir: string = tmpdir(),
): Promise<RestoreReport> {
  const dataDir = await mkdtemp(join(tempDir, 'wa2ai-drill-'));
  try {
    return await restoreBackup({ ...options, config: { dataDir }, mayReplace: false });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
