import { createHash, randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { within } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { DatabaseError, errorCode } from '../stores/storage-errors.ts';
import { TimedClient } from './postgres-client.ts';

/** First half of the advisory lock's key, "wa2n" as a number; the view `node_lock` (prisma/functions/leases.sql) has it too. */
const LOCK_CLASS = 0x7761326e;
const CHANNEL = 'wa2ai';
/** PostgreSQL rejects payloads of 8,000 bytes and more. */
const MAX_PAYLOAD_BYTES = 7_900;
/** Messages of one statement. */
const MAX_BATCH = 500;
/** Messages that may wait for a slow database; further ones are dropped. */
const MAX_QUEUED = 10_000;
/** How long `close` waits for the last messages. */
const FLUSH_MS = 1_000;
const RETRY_MS = 100;
const CONNECT_TIMEOUT_MS = 5_000;
/** Less than a lease: to the others, a node whose connection is lost counts as dead. */
const RESPONSE_TIMEOUT_MS = 10_000;

interface NodeConnectionOptions {
  databaseUrl: string;
  nodeId: string;
  log: Logger;
  /** Receives what any node published, this one included; parsed JSON. */
  onMessage(message: unknown): void;
  /** The connection came back after a break. */
  onBack?(): void;
  /** Longest wait for a response of the server, in milliseconds. Default 10,000. */
  responseTimeoutMs?: number;
}

/**
 * A connection whose session advisory lock shows the other nodes that this process is alive, and that carries the messages
 * between nodes (LISTEN/NOTIFY). Messages published while it is broken are lost, so receivers must poll as well. Does not
 * work through a pooler that shares sessions.
 */
export class NodeConnection {
  readonly #options: NodeConnectionOptions;
  readonly #stopping = new AbortController();
  #client: pg.Client | undefined;
  #queue: string[] = [];
  #sending: Promise<void> | undefined;
  #isSending = false;
  #loop: Promise<void> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #upSinceMs: number | undefined;
  #lockKey: number | undefined;

  constructor(options: NodeConnectionOptions) {
    this.#options = options;
  }

  get #responseTimeoutMs(): number {
    return this.#options.responseTimeoutMs ?? RESPONSE_TIMEOUT_MS;
  }

  /** Second half of this node's lock key; its row in `node` has it. Another connection may have another one. */
  get lockKey(): number {
    return this.#lockKey ?? defaultKey(this.#lockName);
  }

  get #lockName(): LockName {
    return { lockClass: LOCK_CLASS, name: `node ${this.#options.nodeId}` };
  }

  /** How long the connection exists, in milliseconds; 0 while it is broken. */
  get upForMs(): number {
    return this.#upSinceMs === undefined ? 0 : performance.now() - this.#upSinceMs;
  }

  /** Identifies the connection; undefined while it is broken. Messages published between two sessions are lost. */
  get session(): number | undefined {
    return this.#upSinceMs;
  }

  /**
   * Connects and locks; reconnects whenever the connection breaks.
   * @throws {Error} the first connection failed
   * @throws {DatabaseError} DATABASE_RIGHTS: another role has the lock, and its key cannot be changed
   */
  async start(): Promise<void> {
    const connection = await this.#connect();
    this.#loop = this.#keep(connection);
    this.#heartbeat = setInterval(() => {
      if (!this.#isSending) this.#sending = this.#probe();
    }, this.#responseTimeoutMs / 3).unref();
  }

  /** Sends a message to all nodes, this one included, in order; drops it while the connection is broken. */
  publish(message: unknown): void {
    const payload = JSON.stringify(message);
    if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) {
      this.#options.log.warn({}, 'message to other nodes is too long, dropped');
      return;
    }
    if (this.#client === undefined || this.#queue.length >= MAX_QUEUED) return;
    this.#queue.push(payload);
    if (!this.#isSending) this.#sending = this.#send();
  }

  /**
   * Runs a step of the start that only one node at a time may run. The others poll: a statement that waits for the lock would
   * block a CREATE INDEX CONCURRENTLY of the node that has it.
   */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const client = this.#client;
    const key = client && (await this.#lock(client, { lockClass: LOCK_CLASS, name: 'start', key: 0 }));
    try {
      await work();
    } finally {
      if (client && key !== undefined) await unlock(client, LOCK_CLASS, key).catch(() => undefined);
    }
  }

  /** Sends what was published, then ends the connection, which releases the lock. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    if (this.#sending) await within(systemClock, FLUSH_MS, this.#sending);
    this.#stopping.abort();
    await this.#client?.end().catch(() => undefined);
    await this.#loop;
  }

  /** Messages published while a statement runs go with the next one. Never rejects. */
  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#queue.length > 0) {
      const messages = this.#queue.splice(0, MAX_BATCH);
      try {
        await this.#client?.query('SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message', [
          CHANNEL,
          messages,
        ]);
      } catch (error) {
        this.#options.log.debug({ err: error, messages: messages.length }, 'messages to other nodes lost');
      }
    }
    // In the same tick that found the queue empty: the next message starts a new statement.
    this.#isSending = false;
  }

  /** Makes the response timeout notice a lost connection. Then sends what was published meanwhile. */
  async #probe(): Promise<void> {
    this.#isSending = true;
    await this.#client?.query('SELECT 1').catch(() => undefined);
    await this.#send();
  }

  async #connect(): Promise<{ ended: Promise<void> }> {
    const { databaseUrl, onMessage, log } = this.#options;
    const client = new TimedClient({
      connectionString: databaseUrl,
      responseTimeoutMs: this.#responseTimeoutMs,
      application_name: `wa2ai ${process.pid} node`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
    });
    client.on('error', () => undefined); // `end` follows, and that is what is watched
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    client.on('notification', ({ payload }) => {
      try {
        onMessage(JSON.parse(payload ?? ''));
      } catch (error) {
        log.warn({ err: error }, 'cannot handle a message of another node');
      }
    });
    try {
      await client.connect();
      // A message need not survive a power cut.
      await client.query('SET synchronous_commit TO off');
      await client.query(`LISTEN ${CHANNEL}`);
      this.#client = client;
      this.#lockKey = await this.#lock(client, this.#lockName);
    } catch (error) {
      this.#client = undefined;
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#upSinceMs = performance.now();
    return { ended };
  }

  /**
   * A lost connection of this process may keep the lock until the server notices.
   * @returns its key
   * @throws {DatabaseError} DATABASE_RIGHTS: another role has it, and the key cannot be changed
   */
  async #lock(client: pg.Client, lock: LockName): Promise<number> {
    for (;;) {
      const taken = await tryLock(client, lock, `the node "${this.#options.nodeId}"`);
      if ('key' in taken) return taken.key;
      await wait(RETRY_MS, undefined, { signal: this.#stopping.signal });
    }
  }

  async #keep(first: { ended: Promise<void> }): Promise<void> {
    const { signal } = this.#stopping;
    let connection: { ended: Promise<void> } | undefined = first;
    while (connection) {
      await connection.ended;
      this.#client = undefined;
      this.#upSinceMs = undefined;
      if (signal.aborted) return;
      this.#options.log.warn({}, 'node connection lost, reconnecting');
      connection = await this.#reconnect(signal);
      if (connection) this.#options.onBack?.();
    }
  }

  async #reconnect(signal: AbortSignal): Promise<{ ended: Promise<void> } | undefined> {
    while (!signal.aborted) {
      try {
        return await this.#connect();
      } catch (error) {
        if (error instanceof DatabaseError) this.#options.log.error({ err: error }, 'cannot lock this node');
        await wait(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }
}

/** First half of the advisory lock's key: "wa2a" as a number, apart from the keys of other lock users. */
const INSTANCE_LOCK = 0x77613261;

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
interface LockName {
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
    const taken = await tryLock(client, { lockClass: INSTANCE_LOCK, name }, resource);
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
function defaultKey({ name, key }: Pick<LockName, 'name' | 'key'>): number {
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
