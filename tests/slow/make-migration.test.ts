import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../router/src/infra/db/upkeep/migrations.ts';
import { createTestDatabase } from '../support/database.ts';
import { repositoryRoot } from '../support/repository.ts';

describe('npm run migration', () => {
  let copy: string;

  beforeEach(async () => {
    copy = await mkdtemp(join(tmpdir(), 'wa2ai copy '));
    for (const name of ['package.json', 'package-lock.json', 'prisma', 'scripts']) {
      await cp(join(repositoryRoot, name), join(copy, name), { recursive: true });
    }
    await symlink(join(repositoryRoot, 'node_modules'), join(copy, 'node_modules'));
    await git('init', '--quiet');
    await commit();
  });

  afterEach(() => rm(copy, { recursive: true, force: true }));

  async function git(...args: string[]): Promise<void> {
    await promisify(execFile)('git', args, { cwd: copy });
  }

  async function commit(): Promise<void> {
    await git('add', 'prisma');
    const author = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false'];
    await git(...author, 'commit', '--quiet', '--message', 'migrations');
  }

  async function addModel(name: string): Promise<void> {
    const model = `model ${name} {\n  day String @id\n\n  @@map("${name.toLowerCase()}")\n}\n`;
    await appendFile(join(copy, 'prisma', 'schema.prisma'), `\n${model}`);
  }

  async function makeMigration(...name: string[]): Promise<string> {
    const script = join(copy, 'scripts', 'make-migration.mjs');
    return (await promisify(execFile)(process.execPath, [script, ...name])).stderr;
  }

  async function migrations(): Promise<string[]> {
    return (await readdir(join(copy, 'prisma', 'migrations')))
      .filter((name) => !name.endsWith('.toml'))
      .sort();
  }

  it('writes nothing while the schema is unchanged', async () => {
    const before = await migrations();
    expect(await makeMigration('nothing')).toMatch(/has not changed since the last migration/);
    expect(await migrations()).toEqual(before);
  });

  it('writes the changes since the last commit with a migration as SQL that the database accepts', async () => {
    await addModel('Holiday');
    // a commit of the schema alone is a change to migrate too
    await commit();
    await addModel('Feast');

    expect(await makeMigration('Add', 'holidays!')).toMatch(/review it/);

    const name = (await migrations()).at(-1) ?? '';
    expect(name).toMatch(/^\d{14}_add_holidays$/);
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    try {
      expect(await applyMigrations(database.url, join(copy, 'prisma'))).toEqual([name]);
      await client.connect();
      await client.query(`INSERT INTO holiday (day) VALUES ('12-25')`);
      await client.query(`INSERT INTO feast (day) VALUES ('12-26')`);
    } finally {
      await client.end();
      await database.drop();
    }
    await commit();
    expect(await makeMigration('again')).toMatch(/has not changed/);
  });

  it('refuses while a migration is not committed, and outside of a clone', async () => {
    await addModel('Holiday');
    await makeMigration('first');
    const written = await migrations();
    await expect(makeMigration('second')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/not committed\. Commit them/),
    });
    await rm(join(copy, '.git'), { recursive: true });
    await expect(makeMigration('second')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/in a clone of the repository/),
    });
    expect(await migrations()).toEqual(written);
  });

  it('requires a name', async () => {
    await expect(makeMigration('!')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/usage/),
    });
  });
});
