import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../../../core/ports/logger.ts';
import { TimedClient } from './timed-client.ts';

/** First half of the advisory lock's key, "wa2n" as a number; the view `node_lock` of the first migration names it too. */
const LOCK_CLASS = 0x7761326e;
const CHANNEL = 'wa2ai';
/** PostgreSQL refuses payloads from 8,000 bytes on. */
const MAX_PAYLOAD_BYTES = 7_900;
/** Notes that are told in one statement. */
const MAX_TOLD_AT_ONCE = 500;
/** Notes that may wait for a database that is slow; more are left out. */
const MAX_WAITING = 10_000;
/** How long the last notes may take to go out at the end. */
const LAST_NOTES_MS = 1_000;
const RETRY_MS = 100;
const CONNECT_TIMEOUT_MS = 5_000;
/** Sooner than a lease runs out: a node whose connection is dead without a word counts as dead at the others. */
const ANSWER_LIMIT_MS = 10_000;

export interface NodeConnectionOptions {
  databaseUrl: string;
  nodeId: string;
  log: Logger;
  /** What another node, or this one, published; parsed JSON. */
  onMessage(message: unknown): void;
  /** The connection came back after a break. */
  onBack?(): void;
  /** How long the server may owe an answer, in milliseconds. Default 10,000. */
  answerLimitMs?: number;
}

/**
 * One connection of its own that tells the other nodes that this process lives, by a session advisory lock, and
 * carries what nodes tell each other (LISTEN/NOTIFY). What is published while it is broken is lost: whoever waits for
 * it must look by itself now and then. Needs a session of its own, so no pooler that shares sessions.
 */
export class NodeConnection {
  readonly #options: NodeConnectionOptions;
  readonly #stopping = new AbortController();
  #client: pg.Client | undefined;
  #waiting: string[] = [];
  #telling: Promise<void> | undefined;
  #isTelling = false;
  #loop: Promise<void> | undefined;
  #askTimer: NodeJS.Timeout | undefined;
  #upSinceMs: number | undefined;

  constructor(options: NodeConnectionOptions) {
    this.#options = options;
  }

  get #answerLimitMs(): number {
    return this.#options.answerLimitMs ?? ANSWER_LIMIT_MS;
  }

  /** Second half of this node's lock, for the row that tells others where to look. */
  get lockKey(): number {
    return createHash('sha256').update(`node ${this.#options.nodeId}`).digest().readInt32BE(0);
  }

  /** How long it has been up without a break, in milliseconds; 0 while it is broken. */
  get upForMs(): number {
    return this.#upSinceMs === undefined ? 0 : performance.now() - this.#upSinceMs;
  }

  /** Connects and locks; a break later is mended without end. @throws {Error} the first connection failed */
  async start(): Promise<void> {
    const connection = await this.#connect();
    this.#loop = this.#keep(connection);
    this.#askTimer = setInterval(() => {
      if (!this.#isTelling) this.#telling = this.#ask();
    }, this.#answerLimitMs / 3).unref();
  }

  /** Tells all nodes, this one too; at once and in this order, unless the connection is broken. */
  publish(message: unknown): void {
    const payload = JSON.stringify(message);
    if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) {
      this.#options.log.warn({}, 'a note to the other nodes is too long and was left out');
      return;
    }
    if (this.#client === undefined || this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(payload);
    if (!this.#isTelling) this.#telling = this.#tell();
  }

  /**
   * Runs a piece of the start that nodes that start at the same moment must not run together. Those that wait ask again
   * and again: a statement that waited for the lock would hold up a CREATE INDEX CONCURRENTLY of the one that has it.
   */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const client = this.#client;
    if (client) await this.#lock(client, 0);
    try {
      await work();
    } finally {
      await client?.query('SELECT pg_advisory_unlock($1, 0)', [LOCK_CLASS]).catch(() => undefined);
    }
  }

  /** Ends the connection and with it the lock, once what was published is told. Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#askTimer);
    const isTold = new AbortController();
    await Promise.race([
      this.#telling,
      wait(LAST_NOTES_MS, undefined, { signal: isTold.signal }).catch(() => undefined),
    ]);
    isTold.abort();
    this.#stopping.abort();
    await this.#client?.end().catch(() => undefined);
    await this.#loop;
  }

  /** What is published while a statement is under way goes with the next one: a busy node tells much. Never rejects. */
  async #tell(): Promise<void> {
    this.#isTelling = true;
    while (this.#waiting.length > 0) {
      const notes = this.#waiting.splice(0, MAX_TOLD_AT_ONCE);
      try {
        await this.#client?.query('SELECT pg_notify($1, note) FROM unnest($2::text[]) AS note', [
          CHANNEL,
          notes,
        ]);
      } catch (error) {
        this.#options.log.debug({ err: error, notes: notes.length }, 'notes to the other nodes were lost');
      }
    }
    // In the same step that found nothing more: what is published next begins anew.
    this.#isTelling = false;
  }

  /** Whether anybody is there; who is not fails every statement within the limit. Then what was published meanwhile. */
  async #ask(): Promise<void> {
    this.#isTelling = true;
    await this.#client?.query('SELECT 1').catch(() => undefined);
    await this.#tell();
  }

  async #connect(): Promise<{ ended: Promise<void> }> {
    const { databaseUrl, onMessage, log } = this.#options;
    const client = new TimedClient({
      connectionString: databaseUrl,
      responseTimeoutMs: this.#answerLimitMs,
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
        log.warn({ err: error }, 'a note of another node was not taken');
      }
    });
    try {
      await client.connect();
      // A note need not survive a power cut, and no other node's note has to wait until it would.
      await client.query('SET synchronous_commit TO off');
      await client.query(`LISTEN ${CHANNEL}`);
      this.#client = client;
      await this.#lock(client, this.lockKey);
    } catch (error) {
      this.#client = undefined;
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#upSinceMs = performance.now();
    return { ended };
  }

  /** A connection of this process that broke unseen may hold the lock until the server notices. */
  async #lock(client: pg.Client, key: number): Promise<void> {
    for (;;) {
      const { rows } = await client.query<{ taken: boolean }>(
        'SELECT pg_try_advisory_lock($1, $2) AS taken',
        [LOCK_CLASS, key],
      );
      if (rows[0]?.taken) return;
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
      this.#options.log.warn({}, 'the connection that shows this node to the others broke; trying again');
      connection = await this.#reconnect(signal);
      if (connection) this.#options.onBack?.();
    }
  }

  async #reconnect(signal: AbortSignal): Promise<{ ended: Promise<void> } | undefined> {
    while (!signal.aborted) {
      try {
        return await this.#connect();
      } catch {
        await wait(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }
}
