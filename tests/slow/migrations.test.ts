import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../router/src/infra/db/upkeep/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createRole, type DatabaseRole } from '../support/database-role.ts';

const committed = join(import.meta.dirname, '../../prisma');

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
    await mkdir(join(folder, 'migrations', name));
    await writeFile(join(folder, 'migrations', name, 'migration.sql'), sql);
  }

  async function recorded(): Promise<string[]> {
    const { rows } = await client.query('SELECT migration_name FROM _prisma_migrations ORDER BY started_at');
    return rows.map((row) => row.migration_name);
  }

  it('applies every migration to an empty database and records it as prisma migrate does', async () => {
    const names = (await readdir(join(committed, 'migrations'))).filter((name) => !name.endsWith('.toml'));
    expect(await applyMigrations(database.url, folder)).toEqual(names.sort());
    const sql = await readFile(join(folder, 'migrations', '20261126163300_baseline', 'migration.sql'));
    const { rows } = await client.query('SELECT * FROM _prisma_migrations ORDER BY started_at LIMIT 1');
    expect(rows[0]).toMatchObject({
      checksum: createHash('sha256').update(sql).digest('hex'),
      migration_name: '20261126163300_baseline',
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

  it('accepts a file whose line ends a checkout changed', async () => {
    await applyMigrations(database.url, folder);
    const file = join(folder, 'migrations', '20261126163300_baseline', 'migration.sql');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('\n', '\r\n'));
    expect(await applyMigrations(database.url, folder)).toEqual([]);
  });

  describe('a database of the migrations before the first release', () => {
    const replaced = async () =>
      JSON.parse(
        await readFile(join(folder, 'migrations', '20261126163300_baseline', 'replaces.json'), 'utf8'),
      );

    /**
     * As the versions that had these migrations recorded them; the tables of the baseline are the same.
     * @returns the names of the migrations since the baseline, which are not applied
     */
    async function asBefore(names: readonly string[]): Promise<string[]> {
      const isLater = (name: string) => /^\d/.test(name) && name > '20261126163300_baseline';
      const later = (await readdir(join(folder, 'migrations'))).filter(isLater).sort();
      for (const name of later) await rm(join(folder, 'migrations', name), { recursive: true });
      await applyMigrations(database.url, folder);
      await cp(committed, folder, { recursive: true });
      await client.query('DELETE FROM _prisma_migrations');
      await client.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
         SELECT md5(name), 'of then', name, now() FROM unnest($1::text[]) AS name`,
        [names],
      );
      return later;
    }

    it('is at the migration that replaces them, and later ones are applied', async () => {
      const { names } = await replaced();
      expect(names).toHaveLength(61);
      const later = await asBefore(names);
      await client.query(`INSERT INTO chat (account_id, reply_to, lid) VALUES ('a', 'x', '1')`);
      await addMigration('20990101000000_more', 'ALTER TABLE chat ADD COLUMN more INT');
      expect(await applyMigrations(database.url, folder)).toEqual([...later, '20990101000000_more']);
      const committedNames = (await readdir(join(folder, 'migrations'))).filter(
        (name) => !name.endsWith('.toml'),
      );
      expect(await recorded()).toEqual(committedNames.sort());
      expect((await client.query('SELECT lid, more FROM chat')).rows).toEqual([{ lid: '1', more: null }]);
      expect(await applyMigrations(database.url, folder)).toEqual([]);
    });

    it('is refused while one of them is missing, with the version that has it', async () => {
      const { names, lastCommit } = await replaced();
      await asBefore(names.slice(0, -1));
      await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
        code: 'DATABASE_MIGRATION',
        message: expect.stringMatching(
          new RegExp(`without the migration "${names.at(-1)}".*commit ${lastCommit} on them once`),
        ),
      });
      expect(await recorded()).toHaveLength(60);
    });
  });

  it('refuses a file that was changed after it was applied', async () => {
    await applyMigrations(database.url, folder);
    await writeFile(join(folder, 'migrations', '20261126163300_baseline', 'migration.sql'), 'SELECT 1;');
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/"20261126163300_baseline" was changed after it was applied/),
    });
  });

  it('refuses a database that a newer wa2ai migrated', async () => {
    await addMigration('20990101000000_newer', 'CREATE TABLE newer (id INT);');
    await applyMigrations(database.url, folder);
    await rm(join(folder, 'migrations', '20990101000000_newer'), { recursive: true });
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/newer wa2ai: it has "20990101000000_newer"/),
    });
  });

  it('rolls back a migration that fails, and names it', async () => {
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

  it('reports that the user lacks the right to create tables', async () => {
    const role = `r${process.hrtime.bigint()}`;
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'x';
    await expect(applyMigrations(url.href, folder)).rejects.toMatchObject({
      code: 'DATABASE_RIGHTS',
      message: expect.stringMatching(/Grant it CREATE on the database and on its schema/),
    });
    await client.query(`DROP ROLE ${role}`);
  });

  describe('an ordinary user of a migrated database', () => {
    let role: DatabaseRole;
    beforeEach(async () => {
      await applyMigrations(database.url, folder);
      role = await createRole(database);
    });
    afterEach(() => role.drop());

    it('needs no right to create tables when all exist', async () => {
      await client.query(`REVOKE CREATE ON SCHEMA public FROM ${role.name}`);
      expect(await applyMigrations(role.url, folder)).toEqual([]);
    });

    it.each([
      ['REVOKE INSERT ON message', /privilege INSERT on "message".*The user is/],
      ['REVOKE SELECT, UPDATE ON auth_key', /privilege SELECT on "auth_key" \(1 more are missing\)/],
      ['REVOKE USAGE ON SEQUENCE message_id_seq', /privilege USAGE on "public.message_id_seq"/],
      ['REVOKE SELECT ON _prisma_migrations', /permission denied for table _prisma_migrations/],
    ])('is refused with the privilege that it lacks (%s)', async (revoke, sentence) => {
      await client.query(`${revoke} FROM ${role.name}`);
      const refused = await applyMigrations(role.url, folder).catch((thrown: unknown) => thrown);
      expect(refused).toMatchObject({ code: 'DATABASE_RIGHTS', message: expect.stringMatching(sentence) });
      expect((refused as Error).message.split('. ').length).toBeLessThanOrEqual(3);
    });

    it('is refused when a table is missing although its migration is recorded', async () => {
      await client.query('DROP TABLE journal');
      await expect(applyMigrations(role.url, folder)).rejects.toMatchObject({
        code: 'DATABASE_MIGRATION',
        message: expect.stringMatching(
          /"journal" is not in the database.*restore the database from a backup/,
        ),
      });
    });
  });

  it('refuses a database that another program migrated, and names the likely program', async () => {
    await client.query(
      `CREATE TABLE _prisma_migrations (id text, checksum text, finished_at timestamptz, migration_name text,
         logs text, rolled_back_at timestamptz, started_at timestamptz DEFAULT now(), applied_steps_count int)`,
    );
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', 'x', '2021_shop', now())`,
    );
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/belongs to another program.*"2021_shop".*for wa2ai alone/),
    });
  });

  it('refuses a database with unknown tables, and changes none of them', async () => {
    await client.query('CREATE TABLE message (body text)');
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/tables that wa2ai did not create.*"message".*for wa2ai alone/),
    });
    const { rows } = await client.query(`SELECT to_regclass('account') AS account`);
    expect(rows[0].account).toBeNull();
  });

  it('refuses a read-only database', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await expect(applyMigrations(database.url, folder)).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/is read-only/),
    });
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
