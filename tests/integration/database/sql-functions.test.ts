import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyMigrations } from '../../../router/src/infra/db/upkeep/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createRole } from '../../support/database-role.ts';

const committed = join(import.meta.dirname, '../../../prisma');

describe('SQL functions', () => {
  let database: TestDatabase;
  let folder: string;
  let client: pg.Client;

  beforeEach(async () => {
    database = await createTestDatabase({ template: 'empty' });
    folder = await mkdtemp(join(tmpdir(), 'wa2ai functions '));
    await cp(committed, folder, { recursive: true });
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const write = (name: string, sql: string) => writeFile(join(folder, 'functions', name), sql);
  const migrate = () => applyMigrations(database.url, folder);

  /** Changes when anything was applied. */
  async function state(): Promise<unknown> {
    const { rows } = await client.query('SELECT sha256, names, applied_at::text FROM sql_functions');
    expect(rows).toHaveLength(1);
    return rows[0];
  }

  async function signatures(like: string): Promise<string[]> {
    const { rows } = await client.query(
      `SELECT oid::regprocedure::text AS signature FROM pg_proc
       WHERE proname LIKE $1 AND pronamespace = 'public'::regnamespace ORDER BY 1`,
      [like],
    );
    return rows.map((row) => row.signature);
  }

  it('are all created with OR REPLACE, so that each start can apply them', async () => {
    for (const name of (await readdir(join(committed, 'functions'))).filter((file) =>
      file.endsWith('.sql'),
    )) {
      const sql = await readFile(join(committed, 'functions', name), 'utf8');
      expect(sql.match(/^CREATE (?!OR REPLACE (FUNCTION|TRIGGER|VIEW) )/gm) ?? []).toEqual([]);
    }
  });

  it('replace the functions that a migration created', async () => {
    const added = join(folder, 'migrations', '20990101000000_function');
    await mkdir(added);
    await writeFile(
      join(added, 'migration.sql'),
      'CREATE FUNCTION test_kept() RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;',
    );
    await migrate();
    await write(
      'test.sql',
      'CREATE OR REPLACE FUNCTION test_kept() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;',
    );
    expect(await migrate()).toEqual([]);
    expect((await client.query('SELECT test_kept() AS kept')).rows).toEqual([{ kept: true }]);
  });

  it('are left alone while the files are the same, also with other line ends', async () => {
    await migrate();
    const before = await state();
    const file = join(folder, 'functions', 'inbox.sql');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('\n', '\r\n'));
    await migrate();
    expect(await state()).toEqual(before);
  });

  it('are applied again when one is missing in the database', async () => {
    await migrate();
    await client.query('DROP FUNCTION dead_letter_replay');
    await migrate();
    expect(await signatures('dead_letter_replay')).toHaveLength(1);
  });

  it('keep their identity when only the text changes, so that prepared statements of running nodes stay valid', async () => {
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_one() RETURNS integer LANGUAGE sql AS 'SELECT 1';`,
    );
    await migrate();
    const statement = { name: 'one', text: 'SELECT test_one() AS one' };
    expect((await client.query(statement)).rows).toEqual([{ one: 1 }]);
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_one() RETURNS integer LANGUAGE sql AS 'SELECT 2';`,
    );
    await migrate();
    expect((await client.query(statement)).rows).toEqual([{ one: 2 }]);
  });

  it('lose the overload with the former parameters, and are dropped when no file defines them', async () => {
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_a(integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';
       CREATE OR REPLACE FUNCTION test_b() RETURNS integer LANGUAGE sql AS 'SELECT 1';`.replaceAll(
        '       ',
        '',
      ),
    );
    await migrate();
    expect(await signatures('test%')).toEqual(['test_a(integer)', 'test_b()']);
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_a(text) RETURNS integer LANGUAGE sql AS 'SELECT 1';`,
    );
    await migrate();
    expect(await signatures('test%')).toEqual(['test_a(text)']);
  });

  it('may change their result and the names of their parameters', async () => {
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_a(x integer) RETURNS integer LANGUAGE sql AS 'SELECT 1';`,
    );
    await migrate();
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_a(y integer) RETURNS text LANGUAGE sql AS 'SELECT ''a''';`,
    );
    await migrate();
    const { rows } = await client.query('SELECT test_a(1) AS a');
    expect(rows).toEqual([{ a: 'a' }]);
  });

  it('stay as they were when one file fails, and the error names the file', async () => {
    await migrate();
    const before = await state();
    await write(
      'inbox.sql',
      `CREATE OR REPLACE FUNCTION inbox_open_loops() RETURNS integer LANGUAGE sql AS 'SELECT 1';`,
    );
    await write('test.sql', 'CREATE OR REPLACE FUNCTION broken() RETURNS nothing AS;');
    await expect(migrate()).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: expect.stringMatching(/"test.sql" could not be applied and nothing was changed/),
    });
    expect(await state()).toEqual(before);
    expect(await signatures('inbox_add')).toHaveLength(1);
  });

  it('are applied by one of several nodes that start at once', async () => {
    await migrate();
    await write(
      'test.sql',
      `CREATE OR REPLACE FUNCTION test_one() RETURNS integer LANGUAGE sql AS 'SELECT 1';`,
    );
    await Promise.all([migrate(), migrate(), migrate()]);
    expect(await signatures('test%')).toEqual(['test_one()']);
    await state();
  });

  it('cannot be replaced by a user who does not own them, and the error says so', async () => {
    await migrate();
    const role = await createRole(database);
    try {
      await write(
        'leases.sql',
        `-- changed\n${await readFile(join(folder, 'functions', 'leases.sql'), 'utf8')}`,
      );
      await expect(applyMigrations(role.url, folder)).rejects.toMatchObject({
        code: 'DATABASE_RIGHTS',
        message: expect.stringMatching(/may not replace wa2ai's SQL functions: must be owner of/),
      });
    } finally {
      await role.drop();
    }
  });
});
