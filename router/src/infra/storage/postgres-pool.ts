import pg from 'pg';
import { limitAnswers } from './connections/response-timeout.ts';

export interface PostgresPoolOptions {
  /** Shown in pg_stat_activity. */
  name: string;
  /** Most connections, from 1. */
  size: number;
  /** Longest wait for a connection, in milliseconds. */
  connectTimeoutMs: number;
  /** Statements that each new connection begins with. */
  settings: string;
  /** Called when an idle connection breaks (database restarted); the pool replaces it by itself. */
  onConnectionLost?: (error: Error) => void;
}

/**
 * Connections to the database at `url`, opened as they are needed. One whose server owes an answer for half a minute is
 * given up (answer-limit.ts).
 */
export function createPostgresPool(url: string, options: PostgresPoolOptions): pg.Pool {
  const { name, size, connectTimeoutMs, settings, onConnectionLost } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: name,
    // As startup parameters a pooler would refuse them, and `options` of the URL would take their place.
    onConnect: async (client) => {
      limitAnswers(client);
      await client.query(settings);
    },
  });
  pool.on('error', (error) => onConnectionLost?.(error));
  return pool;
}
