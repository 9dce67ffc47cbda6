import { randomBytes } from 'node:crypto';
import pg from 'pg';
import sql, { type Sql } from 'sql-template-tag';
import { afterAll, beforeAll, inject } from 'vitest';
import { parseDataKeys, SecretCipher } from '../../router/src/infra/db/encryption/secret-cipher.ts';
import { Postgres } from '../../router/src/infra/db/postgres.ts';
import { TEMPLATE_NAME } from './database-setup.ts';

type PostgresOptions = NonNullable<ConstructorParameters<typeof Postgres>[1]>;

/** A key for tests; stores of a test database encrypt as in production. */
const TEST_SECRETS = new SecretCipher(parseDataKeys('0'.repeat(64), 'the test key'));

/** A migrated, empty database for one test file or one test. */
export interface TestDatabase {
  /** For code that opens its own connections, also in another process. */
  url: string;
  /** New connections to it; `drop` closes them. */
  open(options?: PostgresOptions): Postgres;
  /** Copies the database, as a backup would. There must be no connection to it. */
  copy(): Promise<TestDatabase>;
  /** Closes the connections of `open`. */
  disconnect(): Promise<void>;
  /** Closes the connections of `open`, throws out everyone else and removes the database. Idempotent. */
  drop(): Promise<void>;
}

/**
 * Makes a database on the run's PostgreSQL (integration and e2e projects only); takes about 30 ms. `template: 'empty'`
 * gives one without any table.
 */
export async function createTestDatabase(
  options: { template?: 'migrated' | 'empty' } = {},
): Promise<TestDatabase> {
  return await copyOf(options.template === 'empty' ? 'template0' : TEMPLATE_NAME);
}

/** The database of a test file, or of a `describe`: it exists while the tests of it run. */
export function testDatabase(): TestDatabase {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  return {
    get url() {
      return database.url;
    },
    open: (options) => database.open(options),
    copy: () => database.copy(),
    disconnect: () => database.disconnect(),
    drop: () => database.drop(),
  };
}

async function copyOf(template: string): Promise<TestDatabase> {
  const adminUrl = inject('adminDatabaseUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const opened: Postgres[] = [];
  const open = (given?: PostgresOptions) => {
    const postgres = new Postgres(url.href, { poolSize: 5, secrets: TEST_SECRETS, ...given });
    opened.push(postgres);
    return postgres;
  };
  const disconnect = async () => {
    await Promise.all(opened.splice(0).map((postgres) => postgres.close()));
  };
  return {
    url: url.href,
    open,
    copy: () => copyOf(name),
    disconnect,
    async drop() {
      await disconnect();
      await asAdmin(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** How many rows there are of a table, or of a table with a WHERE clause. */
export async function countRows(postgres: Postgres, rows: Sql): Promise<number> {
  const [found] = await postgres.query<{ count: number }>(
    sql`SELECT count(*)::integer AS count FROM ${rows}`,
  );
  return found?.count ?? 0;
}

async function asAdmin(adminUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
