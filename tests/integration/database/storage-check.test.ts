import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageTroubleError, StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { migrationNames, tableNames } from '../../../router/src/infra/db/upkeep/migrations.ts';
import { StorageCheck } from '../../../router/src/infra/db/upkeep/storage-check.ts';
import { countRows, createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { asOwner, createRole, type DatabaseRole } from '../../support/database-role.ts';
import { recordingLog } from '../../support/quiet-log.ts';

const prisma = join(import.meta.dirname, '../../../prisma');
let database: TestDatabase;
let role: DatabaseRole;
let log: ReturnType<typeof recordingLog>;
let check: StorageCheck;
let end: () => Promise<void>;

beforeEach(async () => {
  database = await createTestDatabase();
  role = await createRole(database);
  log = recordingLog();
  const postgres = new Postgres(role.url, { poolSize: 2 });
  end = () => postgres.close();
  const [migrations, tables] = await Promise.all([migrationNames(prisma), tableNames(prisma)]);
  check = new StorageCheck({ postgres, nodeId: 'n1', migrations, tables, log });
  postgres.onError((error) => check.reportError(error));
});

afterEach(async () => {
  await end();
  await role.drop();
  await database.drop();
});

async function found(): Promise<{ trouble: string; message: string } | undefined> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(StorageTroubleError);
    const { trouble, message } = error as StorageTroubleError;
    expect(check.trouble).toBe(message);
    return { trouble, message };
  }
}

describe('the check of a database', () => {
  it('contains each table of the migrations', async () => {
    const { rows } = await database
      .open()
      .query<{ name: string }>(sql`
        SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> '_prisma_migrations'
        ORDER BY table_name`)
      .then((rows) => ({ rows }));
    expect(rows.map(({ name }) => name)).toEqual(await tableNames(prisma));
  });

  it('passes for a complete database', async () => {
    expect(await found()).toBeUndefined();
    expect(check.trouble).toBeUndefined();
    expect(log.lines).toEqual([]);
  });

  it.each([
    [
      'REVOKE INSERT ON message FROM',
      'GRANT INSERT ON message TO',
      /privilege INSERT on "message".*GRANT INSERT ON message/,
    ],
    ['REVOKE DELETE ON journal FROM', 'GRANT DELETE ON journal TO', /privilege DELETE on "journal"/],
    [
      'REVOKE USAGE ON SEQUENCE message_id_seq FROM',
      'GRANT USAGE ON SEQUENCE message_id_seq TO',
      /privilege USAGE on "public.message_id_seq".*GRANT USAGE ON SEQUENCE/,
    ],
    [
      'REVOKE SELECT ON _prisma_migrations FROM',
      'GRANT SELECT ON _prisma_migrations TO',
      /SELECT on "_prisma_migrations"/,
    ],
  ])('names a revoked right, once in the log, and its return (%s)', async (revoke, grant, sentence) => {
    await asOwner(database, `${revoke} ${role.name}`);
    for (const _ of [1, 2, 3]) {
      expect(await found()).toMatchObject({ trouble: 'rights', message: expect.stringMatching(sentence) });
    }
    await asOwner(database, `${grant} ${role.name}`);
    expect(await found()).toBeUndefined();
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['error', 'database not usable'],
      ['info', 'database usable again'],
    ]);
  });

  it('reports the number of missing rights', async () => {
    await asOwner(database, `REVOKE ALL ON message, outbox FROM ${role.name}`);
    expect((await found())?.message).toMatch(/\(7 more are missing\)/);
  });

  it('names a missing table', async () => {
    await asOwner(database, 'DROP TABLE journal');
    expect(await found()).toMatchObject({
      trouble: 'schema',
      message: expect.stringMatching(/"journal" is not in the database.*backup/),
    });
  });

  it('names the tables of DBOS without the needed rights', async () => {
    await asOwner(database, 'CREATE SCHEMA dbos', 'CREATE TABLE dbos.workflow_status (id text)');
    expect((await found())?.message).toMatch(/"dbos.workflow_status"/);
  });

  it('looks for missing rights now and then, and at once after a statement failed', async () => {
    const revoke = `REVOKE SELECT ON outbox FROM ${role.name}`;
    const grant = `GRANT SELECT ON outbox TO ${role.name}`;
    await check.look();
    await asOwner(database, revoke);
    await check.look();
    expect(check.trouble).toBeUndefined();
    check.reportError(new Error('of any statement'));
    await expect(check.look()).rejects.toThrow(StorageTroubleError);
    await expect(check.look()).rejects.toThrow(StorageTroubleError);
    await asOwner(database, grant);
    await check.look();
    expect(check.trouble).toBeUndefined();

    await asOwner(database, revoke);
    const twelveLooks = async () => {
      for (let look = 0; look < 12; look++) await check.look();
    };
    await expect(twelveLooks()).rejects.toThrow(StorageTroubleError);
  });

  it('looks for a newer version each time', async () => {
    await check.look();
    await check.look();
    await asOwner(
      database,
      "INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('9', '', '99990101000000_newer')",
    );
    await expect(check.look()).rejects.toThrow('A newer wa2ai has migrated the database');
  });

  it('reports a read-only database', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await asOwner(database, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await found()).toMatchObject({
      trouble: 'read-only',
      message: expect.stringMatching(/is read-only/),
    });
  });

  it('reports that a newer version has migrated the database', async () => {
    await asOwner(
      database,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '20990101000000_next', now())`,
    );
    expect(await found()).toMatchObject({
      trouble: 'newer',
      message: expect.stringMatching(/newer wa2ai.*20990101000000_next.*update this node/),
    });
  });

  it('reports a full disk until there is enough free space', async () => {
    // A trigger simulates the full disk: each write fails.
    await asOwner(
      database,
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`,
      'CREATE TRIGGER full_disk BEFORE INSERT ON journal FOR EACH ROW EXECUTE FUNCTION full_disk()',
    );
    expect(await found()).toBeUndefined();
    check.reportError(
      Object.assign(new Error('could not extend file'), { code: '53100', severity: 'ERROR' }),
    );
    for (const _ of [1, 2]) {
      expect(await found()).toMatchObject({
        trouble: 'full',
        message: expect.stringMatching(/disk of the database is full/),
      });
    }
    await asOwner(database, 'DROP TRIGGER full_disk ON journal');
    expect(await found()).toBeUndefined();
    expect(await countRows(database.open(), sql`journal`)).toBe(0);
  });

  it('distinguishes a database that does not respond from one that reports an error', async () => {
    await end();
    const url = new URL(role.url);
    url.port = '1';
    const postgres = new Postgres(url.href, { connectTimeoutMs: 1_000 });
    const away = new StorageCheck({ postgres, nodeId: 'n1', migrations: [], tables: [], log });
    const error = await away.check().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StorageUnavailableError);
    expect(error).not.toBeInstanceOf(StorageTroubleError);
    await postgres.close();
  });
});
