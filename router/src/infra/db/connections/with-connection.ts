import type pg from 'pg';
import { Wa2aiError } from '../../../core/errors.ts';
import { DatabaseError, errorCode, errorMessage } from '../database-errors.ts';
import { troubleOf } from '../upkeep/storage-faults.ts';
import { addressOf, explainConnectError } from './external-postgres.ts';
import { PostgresClient } from './postgres-client.ts';

/**
 * Runs a step of the start on one connection, which ends with it. A statement may take as long as it needs: a migration of a
 * large table does.
 * @param step shown in pg_stat_activity
 * @throws {DatabaseError} DATABASE_UNREACHABLE or DATABASE_RIGHTS: there is no connection; DATABASE_RIGHTS: a right is
 *   missing; DATABASE_MIGRATION: a statement failed; and those of `work`
 */
export async function withConnection<T>(
  url: string,
  step: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new PostgresClient({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: `wa2ai ${process.pid} ${step}`,
  });
  client.on('error', () => undefined); // the query in flight rejects with the same error
  try {
    await client.connect();
  } catch (error) {
    throw explainConnectError(error, addressOf(url));
  }
  try {
    return await work(client);
  } catch (error) {
    throw explainStep(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function explainStep(error: unknown): unknown {
  if (error instanceof Wa2aiError) return error;
  const reason = errorMessage(error);
  const cause = { cause: error };
  if (errorCode(error) === '42501') {
    return new DatabaseError(
      'DATABASE_RIGHTS',
      `The database user lacks a privilege: ${reason}. Grant it CREATE on the database and on its schema, and SELECT, INSERT, UPDATE and DELETE on all tables of wa2ai.`,
      cause,
    );
  }
  const trouble = troubleOf(errorCode(error), error);
  if (trouble) return new DatabaseError('DATABASE_MIGRATION', trouble.sentence, cause);
  return new DatabaseError('DATABASE_MIGRATION', `The database could not be prepared: ${reason}.`, cause);
}
