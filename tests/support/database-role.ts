import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { TestDatabase } from './database.ts';

/** A user of a test database who is not its owner and has the privileges that a test grants. */
export interface DatabaseRole {
  name: string;
  /** The database's URL with this user. */
  url: string;
  drop(): Promise<void>;
}

/** Runs statements as the database's owner, also in a database that takes no writes by default. */
export async function asOwner(database: TestDatabase, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('SET default_transaction_read_only = off');
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Makes a user with the rights that wa2ai asks for: CREATE on the database, everything on its tables. */
export async function createRole(database: TestDatabase): Promise<DatabaseRole> {
  const name = `r${randomBytes(6).toString('hex')}`;
  const url = new URL(database.url);
  const databaseName = url.pathname.slice(1);
  await asOwner(
    database,
    `CREATE ROLE ${name} LOGIN PASSWORD 'x'`,
    `GRANT CREATE ON DATABASE ${databaseName} TO ${name}`,
    `GRANT USAGE, CREATE ON SCHEMA public TO ${name}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${name}`,
  );
  url.username = name;
  url.password = 'x';
  return {
    name,
    url: url.href,
    // It owns the tables of DBOS when the service ran as this user.
    drop: () => asOwner(database, `DROP OWNED BY ${name} CASCADE`, `DROP ROLE ${name}`),
  };
}
