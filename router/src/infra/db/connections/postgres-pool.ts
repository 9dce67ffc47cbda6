import pg from 'pg';
import { TimedClient } from './timed-client.ts';

export interface PostgresPoolOptions {
  /** Shown in pg_stat_activity. */
  name: string;
  /** Maximum number of connections, from 1. */
  size: number;
  /** Longest wait for a connection, in milliseconds. */
  connectTimeoutMs: number;
  /** Statements that each new connection starts with. */
  settings: string;
}

/** Connections to the database at `url`, opened when needed, replaced when they break. Each is a TimedClient. */
export function createPostgresPool(url: string, options: PostgresPoolOptions): pg.Pool {
  const { name, size, connectTimeoutMs, settings } = options;
  const pool = new pg.Pool({
    Client: TimedClient,
    connectionString: url,
    max: size,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: name,
    // Not as startup parameters: a pooler refuses them, and `options` of the URL would replace them.
    onConnect: async (client) => {
      await client.query(settings);
    },
  });
  pool.on('error', () => undefined); // an idle connection broke; the pool has removed it
  return pool;
}
