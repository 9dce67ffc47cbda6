import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../../router/src/infra/storage/upkeep/migrations.ts';
import { createTestDatabase } from '../../support/database.ts';
import { repositoryRoot } from '../../support/repository.ts';

describe('npm run migration', () => {
  let copy: string;

  beforeEach(async () => {
    copy = await mkdtemp(join(tmpdir(), 'wa2ai copy '));
    for (const name of ['package.json', 'package-lock.json', 'prisma', 'scripts']) {
      await cp(join(repositoryRoot, name), join(copy, name), { recursive: true });
    }
    await symlink(join(repositoryRoot, 'node_modules'), join(copy, 'node_modules'));
  });

  afterEach(() => rm(copy, { recursive: true, force: true }));

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

  it('writes the changes as SQL that the database accepts, and stores the schema', async () => {
    const schemaFile = join(copy, 'prisma', 'schema.prisma');
    const schema = await readFile(schemaFile, 'utf8');
    await writeFile(schemaFile, `${schema}\nmodel Holiday {\n  day String @id\n\n  @@map("holiday")\n}\n`);

    expect(await makeMigration('Add', 'holidays!')).toMatch(/review it/);

    const name = (await migrations()).at(-1) ?? '';
    expect(name).toMatch(/^\d{14}_add_holidays$/);
    const database = await createTestDatabase();
    const client = new pg.Client({ connectionString: database.url });
    try {
      expect(await applyMigrations(database.url, join(copy, 'prisma'))).toEqual([name]);
      await client.connect();
      await client.query(`INSERT INTO holiday (day) VALUES ('12-25')`);
    } finally {
      await client.end();
      await database.drop();
    }
    expect(await makeMigration('again')).toMatch(/has not changed/);
  });

  it('requires a name', async () => {
    await expect(makeMigration('!')).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/usage/),
    });
  });
});
