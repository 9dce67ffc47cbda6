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
 * @throws {DatabaseError} another process has the lock, also after a second: DATABASE_ALREADY_RUNNING, or DATABASE_RIGHTS
 *   when it is one of another role, which is no wa2ai
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
  const { role, process } = (await lockOwner(client, LOCK_CLASS, key)) ?? {};
  if (role !== undefined) throw lockedByRole(role, resource);
  throw new DatabaseError(
    'DATABASE_ALREADY_RUNNING',
    `wa2ai is already running on ${resource}${process === undefined ? '' : ` (process ${process})`}. Use that one, or stop it first.`,
  );
}

/**
 * Who has an advisory lock of this database.
 * @returns `role`: another one than that of `client`, so it is no wa2ai of this database; `process`: wa2ai's connections
 *   contain the process id in their names, "wa2ai 4711 lock". Undefined: nobody has it now
 */
export async function lockOwner(
  client: Pick<pg.Client, 'query'>,
  lockClass: number,
  key: number,
): Promise<{ role?: string; process?: string } | undefined> {
  const result = await client.query<{ name: string | null; role: string; isOwn: boolean }>(
    `SELECT application_name AS name, usename AS role, usename = session_user AS "isOwn"
      FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE locktype = 'advisory' AND classid = $1::bigint::oid AND objid = ($2::bigint & 4294967295)::oid AND granted
        AND l.database = a.datid AND a.datname = current_database()`,
    [lockClass, key],
  );
  const [owner] = result.rows;
  if (!owner) return undefined;
  if (!owner.isOwn) return { role: owner.role };
  const process = /^wa2ai (\d+)/.exec(owner.name ?? '')?.[1];
  return process === undefined ? {} : { process };
}

/** A role that may connect can take any advisory lock, and wa2ai cannot end its connections. */
export function lockedByRole(role: string, resource: string): DatabaseError {
  return new DatabaseError(
    'DATABASE_RIGHTS',
    `The role "${role}" has the lock of ${resource}. End its connections (pg_terminate_backend), and let only wa2ai's role connect: REVOKE CONNECT ON DATABASE … FROM PUBLIC and from that role.`,
  );
}
