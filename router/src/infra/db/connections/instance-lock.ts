import { createHash, randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { DatabaseError, errorCode } from '../stores/storage-errors.ts';

/** First half of the advisory lock's key: "wa2a" as a number, apart from the keys of other lock users. */
const LOCK_CLASS = 0x77613261;

/** The server needs a moment to notice that the connection of a killed process has ended. */
const ATTEMPTS = 20;
const PAUSE_MS = 50;

const CREATE_LOCK_KEYS = `CREATE TABLE IF NOT EXISTS lock_key (
    "name" TEXT NOT NULL,
    "key" INTEGER NOT NULL,
    CONSTRAINT "lock_key_pkey" PRIMARY KEY ("name")
)`;

type Client = Pick<pg.Client, 'query'>;

/** A session advisory lock of wa2ai. */
export interface LockName {
  /** First half of its key. */
  lockClass: number;
  /** What is locked. */
  name: string;
  /** Second half of its key, unless another role had that one. Default: of the hash of `name`. */
  key?: number;
}

/** `role`: it is not a wa2ai; `process`: the process id of a wa2ai. */
interface LockOwner {
  role?: string;
  process?: string;
}

/**
 * Takes a session advisory lock on `client`. The server releases it when that connection ends, also when the process is
 * killed, so a running process and a dead one are never confused.
 * @param name what is locked; two locks of one name exclude each other within one database
 * @param resource what it is for the operator: "the data folder /srv/wa2ai"
 * @throws {DatabaseError} another process has the lock, also after a second: DATABASE_ALREADY_RUNNING, or DATABASE_RIGHTS
 *   when it is one of another role, and this one may not create the table of keys
 */
export async function takeInstanceLock(client: Client, name: string, resource: string): Promise<void> {
  let owner: LockOwner | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const taken = await tryLock(client, { lockClass: LOCK_CLASS, name }, resource);
    if ('key' in taken) return;
    ({ owner } = taken);
    await wait(PAUSE_MS);
  }
  const process = owner?.process;
  throw new DatabaseError(
    'DATABASE_ALREADY_RUNNING',
    `wa2ai is already running on ${resource}${process === undefined ? '' : ` (process ${process})`}. Use that one, or stop it first.`,
  );
}

/**
 * Tries to take a session advisory lock. Any role that may connect to the database can take any key, and wa2ai cannot end its
 * connections: when another role has it, the lock gets another key, in a table that only wa2ai's roles can read and
 * change. Nobody else can know it before this connection has it.
 * @returns the second half of its key; otherwise which wa2ai has it, if any has now
 * @throws {DatabaseError} DATABASE_RIGHTS: another role has it, and the key cannot be changed
 */
export async function tryLock(
  client: Client,
  lock: LockName,
  resource: string,
): Promise<{ key: number } | { owner: LockOwner | undefined }> {
  const { lockClass, name } = lock;
  const former = await keyOf(client, lock);
  if (await isTaken(client, lockClass, former)) {
    // A process that saw another role with it may have changed it before.
    if ((await keyOf(client, lock)) === former) return { key: former };
    await unlock(client, lockClass, former);
    return { owner: undefined };
  }
  const owner = await lockOwner(client, lockClass, former);
  if (owner?.role === undefined) return { owner };
  // Taken before it is published: nobody else knows it yet.
  const key = randomInt(-(2 ** 31), 2 ** 31);
  if (!(await isTaken(client, lockClass, key))) return { owner: undefined };
  try {
    const isChanged = await changeKey(client, name, former, key);
    // The other role may have released the former key, and a wa2ai taken it, before it was changed.
    const earlier = isChanged ? await lockOwner(client, lockClass, former) : undefined;
    if (isChanged && (earlier === undefined || earlier.role !== undefined)) return { key };
    if (isChanged) await changeKey(client, name, key, former);
    await unlock(client, lockClass, key);
    return { owner: earlier };
  } catch (error) {
    await unlock(client, lockClass, key).catch(() => undefined);
    if (errorCode(error) !== '42501') throw error;
    throw lockedByRole(owner.role, resource, error);
  }
}

/** Releases a lock that `tryLock` took. */
export async function unlock(client: Client, lockClass: number, key: number): Promise<void> {
  await client.query('SELECT pg_advisory_unlock($1, $2)', [lockClass, key]);
}

/** The second half of a lock's key while no other role had it. */
export function defaultKey({ name, key }: Pick<LockName, 'name' | 'key'>): number {
  return key ?? createHash('sha256').update(name).digest().readInt32BE(0);
}

async function keyOf(client: Client, lock: LockName): Promise<number> {
  if (!(await hasKeys(client))) return defaultKey(lock);
  const { rows } = await client.query<{ key: number }>('SELECT key FROM lock_key WHERE name = $1', [
    lock.name,
  ]);
  return rows[0]?.key ?? defaultKey(lock);
}

async function hasKeys(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>(`SELECT to_regclass('lock_key') IS NOT NULL AS has`);
  return rows[0]?.has ?? false;
}

/** @returns false if another process changed it meanwhile: nothing was changed */
async function changeKey(client: Client, name: string, from: number, to: number): Promise<boolean> {
  // At the first start there are no tables yet.
  if (!(await hasKeys(client))) {
    await client.query(CREATE_LOCK_KEYS).catch(async (error: unknown) => {
      // Another process may have created it at the same moment.
      if (!(await hasKeys(client))) throw error;
    });
  }
  const { rowCount } = await client.query(
    `INSERT INTO lock_key (name, key) VALUES ($1, $2)
     ON CONFLICT (name) DO UPDATE SET key = excluded.key WHERE lock_key.key = $3`,
    [name, to, from],
  );
  return rowCount === 1;
}

async function isTaken(client: Client, lockClass: number, key: number): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [
    lockClass,
    key,
  ]);
  return rows[0]?.taken ?? false;
}

/**
 * Who has an advisory lock of this database.
 * @returns `role`: it may not write wa2ai's tables, so it is not a wa2ai of this database (a superuser may); `process`: wa2ai's connections
 *   contain the process id in their names, "wa2ai 4711 lock". Undefined: nobody has it now
 */
export async function lockOwner(
  client: Client,
  lockClass: number,
  key: number,
): Promise<LockOwner | undefined> {
  const result = await client.query<{ name: string | null; role: string; isOwn: boolean }>(
    `SELECT application_name AS name, usename AS role,
        usename = session_user OR coalesce(has_table_privilege(usesysid, to_regclass('node'), 'UPDATE'), false) AS "isOwn"
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

function lockedByRole(role: string, resource: string, cause: unknown): DatabaseError {
  return new DatabaseError(
    'DATABASE_RIGHTS',
    `The role "${role}" has the lock of ${resource}, and wa2ai may not create or change the table "lock_key" to use another one. End its connections (pg_terminate_backend), and let only wa2ai's role connect: REVOKE CONNECT ON DATABASE … FROM PUBLIC and from that role.`,
    { cause },
  );
}
