import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { within } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { DatabaseError } from '../stores/storage-errors.ts';
import { defaultKey, type LockName, tryLock, unlock } from './instance-lock.ts';
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
