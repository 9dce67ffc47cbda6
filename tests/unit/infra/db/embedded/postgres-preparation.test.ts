import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { preparePostgres } from '../../../../../router/src/infra/db/embedded/embedded-postgres.ts';
import { findPostgresBinaries } from '../../../../../router/src/infra/db/embedded/postgres-binaries.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

const isRoot = process.getuid?.() === 0;

let parent: string;
let dataDir: string;
let data: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'wa2ai-prepare-'));
  await chmod(parent, 0o755);
  dataDir = join(parent, 'data');
  data = join(dataDir, 'postgres', 'data');
});
afterEach(() => rm(parent, { recursive: true, force: true }));

/** The files of a database that `preparePostgres` reads. */
async function writeDatabase({ version = '', password = 'secret\n' }): Promise<void> {
  await mkdir(data, { recursive: true });
  await writeFile(join(data, 'PG_VERSION'), `${version}\n`);
  if (password) await writeFile(join(dataDir, 'postgres', 'password'), password);
}

async function installedMajor(): Promise<string> {
  return String((await findPostgresBinaries(undefined, quietLog)).major);
}

describe('preparePostgres', () => {
  it('returns an existing database with its password, and creates nothing', async () => {
    await writeDatabase({ version: await installedMajor() });
    const { folder, password, user } = await preparePostgres(dataDir, quietLog);
    expect(folder.data).toBe(data);
    expect(password).toBe('secret');
    expect(await readdir(dataDir)).toEqual(['postgres']);
    expect((await stat(data)).uid).toBe(user?.uid ?? process.getuid?.());
    expect(user === undefined).toBe(!isRoot);
  });

  it('refuses data of another major version with a sentence that says what to do', async () => {
    await writeDatabase({ version: '15' });
    await expect(preparePostgres(dataDir, quietLog)).rejects.toMatchObject({
      code: 'DATABASE_VERSION',
      message: expect.stringMatching(
        /is of PostgreSQL 15, and this wa2ai has PostgreSQL 18, .*Start the wa2ai version that created it/,
      ),
    });
  });

  it('refuses a folder without a database instead of creating an empty one in it', async () => {
    await mkdir(join(dataDir, 'postgres'), { recursive: true });
    await expect(preparePostgres(dataDir, quietLog)).rejects.toMatchObject({
      code: 'DATABASE_FOLDER',
      message: expect.stringMatching(/postgres contains no database \(ENOENT on data\/PG_VERSION\)/),
    });
    expect(await readdir(join(dataDir, 'postgres'))).toEqual([]);
  });

  it('refuses a database whose password is missing', async () => {
    await writeDatabase({ version: await installedMajor(), password: '' });
    await expect(preparePostgres(dataDir, quietLog)).rejects.toMatchObject({
      code: 'DATABASE_FOLDER',
      message: expect.stringMatching(/cannot be read from .*postgres\/password \(ENOENT\).*from a backup/),
    });
  });

  it('refuses a data folder that is a file', async () => {
    await writeFile(dataDir, '');
    await expect(preparePostgres(dataDir, quietLog)).rejects.toMatchObject({
      code: 'DATABASE_FOLDER',
      message: expect.stringMatching(/^The data folder .* cannot be used: EEXIST.*Set WA2AI_DATA_DIR/),
    });
  });

  it.runIf(process.platform === 'linux')(
    'refuses a data folder that cannot be created, and does not hang',
    async () => {
      await expect(preparePostgres('/proc/x/y', quietLog)).rejects.toMatchObject({
        code: 'DATABASE_FOLDER',
        message: expect.stringMatching(
          /^The data folder \/proc\/x\/y cannot be used: ENOENT.*Set WA2AI_DATA_DIR to a folder that this user may write\.$/,
        ),
      });
    },
  );

  it('removes the incomplete database of a killed first start', async () => {
    await writeDatabase({ version: await installedMajor() });
    const incomplete = join(dataDir, 'postgres.tmp-999999999-aa');
    await mkdir(incomplete);
    await preparePostgres(dataDir, quietLog);
    expect(existsSync(incomplete)).toBe(false);
  });
});
