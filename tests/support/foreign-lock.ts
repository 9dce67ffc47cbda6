import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import type { TestDatabase } from './database.ts';

/**
 * Runs `work` while another role of the server has an advisory lock of the database. The role may connect, as every role may
 * by default, and has no other right.
 * @param purpose part of the role's name
 * @param name of the lock, which is hashed as wa2ai does
 */
export async function withForeignLock(
  database: TestDatabase,
  purpose: string,
  name: string,
  lockClass: number,
  work: (role: string) => Promise<void>,
): Promise<void> {
  const role = `intruder_${purpose}_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'intruder'`);
  const url = new URL(database.url);
  url.username = role;
  url.password = 'intruder';
  const intruder = new pg.Client({ connectionString: url.href });
  try {
    await intruder.connect();
    const key = createHash('sha256').update(name).digest().readInt32BE(0);
    const { rows } = await intruder.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock($1, $2) AS taken',
      [lockClass, key],
    );
    if (rows[0]?.taken !== true) throw new Error(`the lock "${name}" is taken`);
    await work(role);
  } finally {
    await intruder.end();
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
  }
}
