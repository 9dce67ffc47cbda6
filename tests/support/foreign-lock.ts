import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import type { TestDatabase } from './database.ts';

/** Another role of the server: it may connect, as every role may by default, and has no other right. */
export interface Intruder {
  role: string;
  /** Takes an advisory lock. @param name is hashed as wa2ai does; @returns whether it was free */
  take(lockClass: number, name: string): Promise<boolean>;
  client: pg.Client;
}

/** Runs `work` with an intruder, which leaves afterwards. */
export async function withIntruder(
  database: TestDatabase,
  work: (intruder: Intruder) => Promise<void>,
): Promise<void> {
  const role = `intruder_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'intruder'`);
  const url = new URL(database.url);
  url.username = role;
  url.password = 'intruder';
  const client = new pg.Client({ connectionString: url.href });
  try {
    await client.connect();
    await work({
      role,
      client,
      async take(lockClass, name) {
        const key = createHash('sha256').update(name).digest().readInt32BE(0);
        const { rows } = await client.query<{ taken: boolean }>(
          'SELECT pg_try_advisory_lock($1, $2) AS taken',
          [lockClass, key],
        );
        return rows[0]?.taken ?? false;
      },
    });
  } finally {
    await client.end();
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
  }
}
