import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { secretColumns } from '../../../router/src/features.ts';
import { type Database, openDatabase } from '../../../router/src/infra/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quietLog, recordingLog } from '../../support/quiet-log.ts';

let database: TestDatabase;
let dataDir: string;
let opened: Database[];
beforeEach(async () => {
  database = await createTestDatabase({ template: 'empty' });
  dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-database-'));
  await chmod(dataDir, 0o755);
  opened = [];
});
afterEach(async () => {
  for (const each of opened) await each.stop();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function open(
  config: Partial<Parameters<typeof openDatabase>[0]> = {},
  log = quietLog,
): Promise<Database> {
  const result = await openDatabase({ dataDir, databaseUrl: database.url, ...config }, log, async () =>
    secretColumns(),
  );
  opened.push(result);
  return result;
}

describe('openDatabase', () => {
  it('migrates an empty database, and a later start finds it up to date', async () => {
    const first = recordingLog();
    const { migrations, stop } = await open({}, first);
    await stop();
    const migrated = (lines: typeof first.lines) =>
      lines.filter(({ message }) => message === 'database migrated').map(({ fields }) => fields.migrations);
    expect(migrated(first.lines)).toEqual([migrations]);
    expect(migrations.length).toBeGreaterThan(0);
    const second = recordingLog();
    await open({}, second);
    expect(migrated(second.lines)).toEqual([]);
  });

  it('keeps the name of the node in the data folder, unless the settings name it', async () => {
    const first = await open();
    await first.stop();
    expect((await readFile(join(dataDir, 'node-id'), 'utf8')).trim()).toBe(first.nodeId);
    const again = await open();
    expect(again.nodeId).toBe(first.nodeId);
    expect((await open({ nodeId: 'node-sales' })).nodeId).toBe('node-sales');
  });

  it('encrypts with the key file of the settings, and not without one', async () => {
    const plain = await open();
    expect(plain.secrets.sealText('secret', 'test')).toBe('secret');
    await plain.stop();
    const dataKeyFile = join(dataDir, 'keys');
    await writeFile(dataKeyFile, randomBytes(32).toString('hex'));
    const { secrets } = await open({ dataKeyFile });
    expect(secrets.sealText('secret', 'test')).not.toContain('secret');
  });

  it('releases the name of the node when the start fails', async () => {
    const missing = join(dataDir, 'missing');
    await expect(open({ dataKeyFile: missing })).rejects.toMatchObject({ code: 'DATABASE_KEY' });
    await expect(open()).resolves.toMatchObject({ url: database.url });
  });

  it('stops the embedded server when the start fails after it, and encrypts in it by default', async () => {
    const embedded = { databaseUrl: undefined };
    const { secrets, stop } = await open(embedded);
    expect(secrets.sealText('secret', 'test')).not.toContain('secret');
    await stop();
    await rm(join(dataDir, 'data-key'));
    const log = recordingLog();
    await expect(open({ ...embedded, dataKeyFile: join(dataDir, 'missing') }, log)).rejects.toMatchObject({
      code: 'DATABASE_KEY',
    });
    expect(log.lines.map(({ message }) => message)).toContain('starting the database');
    expect(existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'))).toBe(false);
  });
});
