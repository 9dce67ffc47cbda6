import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../../router/src/infra/db/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const committed = join(import.meta.dirname, '../../../prisma/migrations');

describe('applyMigrations', () => {
  let database: TestDatabase;
  let folder: string;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase({ template: 'empty' });
    folder = await mkdtemp(join(tmpdir(), 'wa2ai migrations '));
    await cp(committed, folder, { recursive: true });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });

  afterEach(async () => {
    await client.end();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function addMigration(name: string, sql: string): Promise<void> {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'migration.sql'), sql);
  }

  async function recorded(): Promise<string[]> {
    const { rows } = await client.query('SELECT migration_name FROM _prisma_migrations ORDER BY started_at');
    return rows.map((row) => row.migration_name);
  }

  it('applies every migration to an empty database and records it as prisma migrate does', async () => {
    const names = (await readdir(committed)).filter((name) => !name.endsWith('.toml'));
    expect(await applyMigrations(database.url, folder)).toEqual(names.sort());
    const sql = await readFile(join(folder, '20261121000000_init', 'migration.sql'));
    const { rows } = await client.query('SELECT * FROM _prisma_migrations ORDER BY started_at LIMIT 1');
    expect(rows[0]).toMatchObject({
      checksum: createHash('sha256').update(sql).digest('hex'),
      migration_name: '20261121000000_init',
      logs: null,
      rolled_back_at: null,
      applied_steps_count: 1,
    });
    expect(rows[0].finished_at).toBeInstanceOf(Date);
    expect(rows[0].id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('does nothing the second time, and applies only what was added since', async () => {
    await applyMigrations(database.url, folder);
    expect(await applyMigrations(database.url, folder)).toEqual([]);
    await addMigration(
      '20990101000000_more',
      'CREATE TABLE more (id INT); CREATE INDEX more_id ON more(id);',
    );
    expect(await applyMigrations(database.url, folder)).toEqual(['20990101000000_more']);
  });

  it('accepts a file whose line ends were turned around by a checkout', async () => {
    await applyMigrations(database.url, folder);
    const file = join(folder, '20261121000000_init', 'migration.sql');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('\n', '\r\n'));
    expect(await applyMigrations(database.url, folder)).toEqual([]);
  });

  it('refuses a file that was changed after it was applied', async () => {
    await applyMigrations(database.url, folder);
    await writeFile(join(folder, '20261121000000_init', 'migration.sql'), 'SELECT 1;');
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/"20261121000000_init" was changed after it was applied/),
    });
  });

  it('refuses a database that a newer wa2ai migrated', async () => {
    await addMigration('20990101000000_newer', 'CREATE TABLE newer (id INT);');
    await applyMigrations(database.url, folder);
    await rm(join(folder, '20990101000000_newer'), { recursive: true });
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/newer wa2ai: it has "20990101000000_newer"/),
    });
  });

  it('leaves nothing of a migration that fails, and names it', async () => {
    await addMigration('20990101000000_broken', 'CREATE TABLE half (id INT); SELECT no_such_function();');
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/"20990101000000_broken" failed and changed nothing/),
    });
    expect(await recorded()).not.toContain('20990101000000_broken');
    const { rows } = await client.query(`SELECT to_regclass('half') AS half`);
    expect(rows[0].half).toBeNull();
  });

  it('lets one of several nodes that start at once migrate, and the others wait', async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => applyMigrations(database.url, folder)));
    expect(results.filter((names) => names.length > 0)).toHaveLength(1);
    expect(new Set(await recorded()).size).toBe((await recorded()).length);
  });

  it('says that the user may not create tables', async () => {
    const role = `r${process.hrtime.bigint()}`;
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'x';
    await expect(applyMigrations(url.href, folder)).rejects.toMatchObject({
      code: 'DATABASE_RIGHTS',
      message: expect.stringMatching(/may not create tables/),
    });
    await client.query(`DROP ROLE ${role}`);
  });

  it('refuses a chat without an address, and one that is both a person and a group', async () => {
    await applyMigrations(database.url, folder);
    const insert = (columns: string, values: string) =>
      client.query(`INSERT INTO chat (account_id, reply_to${columns}) VALUES ('a', 'x'${values})`);
    await expect(insert('', '')).rejects.toThrow(/chat_address_check/);
    await expect(insert(', phone, group_id', ", '1', 'g'")).rejects.toThrow(/chat_address_check/);
    await insert(', lid', ", '1'");
  });
});
