import type pg from 'pg';
import { PostgresClient } from './postgres-client.ts';

/**
 * Longest wait for a response of PostgreSQL, in milliseconds. Longer than any statement of wa2ai takes, including the wait
 * for a row that a hung process has locked (15 s, postgres.ts).
 */
const RESPONSE_TIMEOUT_MS = 30_000;

export interface TimedClientConfig extends pg.ClientConfig {
  /** Default 30,000. */
  responseTimeoutMs?: number;
}

/**
 * A connection that ends itself when the server owes a response for longer than the limit; its pending statements fail as
 * if the connection broke. A host that disappears without closing its connections (a fail-over, a power cut) would
 * otherwise leave them waiting until TCP's keepalive gives up, which takes minutes to hours.
 */
export class TimedClient extends PostgresClient {
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: TimedClientConfig = {}) {
    super(config);
    this.#timeoutMs = config.responseTimeoutMs ?? RESPONSE_TIMEOUT_MS;
    // A busy connection of a pool emits "drain" seldom: the next statement is sent in the same tick as the response.
    this.connection.on('readyForQuery', () => this.#timer?.refresh());
    this.on('drain', () => this.#clear());
    this.on('end', () => this.#clear());
  }

  /** `pg.Client.query` in all its forms, with the limit. */
  override query(...args: unknown[]): never {
    this.#timer ??= setTimeout(() => void this.end().catch(() => undefined), this.#timeoutMs).unref();
    return Reflect.apply(super.query, this, args) as never;
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Sends a statement now and then on a connection that is otherwise idle, so that a TimedClient notices a server that is
 * gone. Stops when the connection ends.
 */
export function startHeartbeat(client: pg.Client, everyMs: number): void {
  let isAnswered = true;
  const ask = async () => {
    if (!isAnswered) return;
    isAnswered = false;
    await client.query('SELECT 1').catch(() => undefined);
    isAnswered = true;
  };
  const timer = setInterval(() => void ask(), everyMs).unref();
  client.once('end', () => clearInterval(timer));
}
