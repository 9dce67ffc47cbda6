import { createPostgresPool } from '../db/connections/postgres-client.ts';

/**
 * Creates the tables of durable tasks, or brings them up to date, in the schema "dbos". Idempotent.
 * @param databaseUrl of a direct connection
 * @throws pg's errors
 */
export async function createTaskTables(databaseUrl: string): Promise<void> {
  // Loaded when there are tables to make: it takes a third of a second.
  const { ensureSystemDatabase } = await import('@dbos-inc/dbos-sdk/internal/system_database');
  const { GlobalLogger } = await import('@dbos-inc/dbos-sdk/internal/telemetry/logs');
  const pool = createPostgresPool(databaseUrl, {
    name: 'wa2ai restore tasks',
    size: 1,
    connectTimeoutMs: 10_000,
    settings: "SET lock_timeout TO '15s'",
  });
  try {
    // With a pool it does not look for the database.
    await ensureSystemDatabase(databaseUrl, new GlobalLogger(undefined, { logLevel: 'error' }), pool);
  } finally {
    await pool.end();
  }
}
