import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseError } from '../database-errors.ts';

/** First half of the advisory lock's key: "wa2a" as a number, apart from the keys of other lock users. */
const LOCK_CLASS = 0x77613261;

/** The server needs a moment to notice that the connection of a killed process has ended. */
const ATTEMPTS = 20;
const PAUSE_MS = 50;

/**
 * Takes a session advisory lock on `client`. The server releases it when that connection ends, also when the process is
 * killed, so a running process and a dead one are never confused.
 * @param name what is locked; two locks of one name exclude each other within one database
 * @param resource what it is for the operator: "the data folder /srv/wa2ai"
 * @throws {DatabaseError} DATABASE_ALREADY_RUNNING: another process has the lock, also after a second
 */
export async function takeInstanceLock(client: pg.Client, name: string, resource: string): Promise<void> {
  const key = createHash('sha256').update(name).digest().readInt32BE(0);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const result = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [
      LOCK_CLASS,
      key,
    ]);
    if (result.rows[0]?.taken) return;
    await wait(PAUSE_MS);
  }
  const owner = await readOwner(client, key);
  throw new DatabaseError(
    'DATABASE_ALREADY_RUNNING',
    `wa2ai is already running on ${resource}${owner}. Use that one, or stop it first.`,
  );
}

/** wa2ai's connections contain the process id in their names: "wa2ai 4711 lock". */
async function readOwner(client: pg.Client, key: number): Promise<string> {
  const result = await client.query<{ name: string }>(
    `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND classid = $1::bigint::oid AND objid = ($2::bigint & 4294967295)::oid AND granted`,
    [LOCK_CLASS, key],
  );
  const process = /^wa2ai (\d+)/.exec(result.rows[0]?.name ?? '')?.[1];
  return process === undefined ? '' : ` (process ${process})`;
}
