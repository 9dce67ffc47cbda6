import type pg from 'pg';
import { within } from '../../../core/time-limit.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { errorCode } from '../database-errors.ts';

/** A pooler reuses the session that was returned last, so one attempt is usually enough; others may use the same pooler. */
const ATTEMPTS = 5;
/** A longer response means waiting for a session. */
const RESPONSE_MS = 5_000;
/** `protocol_violation`: a pooler that shares sessions between statements refuses BEGIN with it. */
const PROTOCOL_VIOLATION = '08P01';

/**
 * Whether two connections share sessions, as behind PgBouncer with `pool_mode = transaction`: while an open transaction
 * of the second one occupies its session, the session of the first one is read. Direct connections, and those through a
 * pooler in session mode, keep their own.
 */
export async function sharesSessions(first: pg.Client, second: pg.Client): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await sessionOf(first);
    try {
      await second.query('BEGIN');
    } catch (error) {
      if (errorCode(error) === PROTOCOL_VIOLATION) return true;
      throw error;
    }
    if ((await sessionOf(second)) === before || (await sessionOf(first)) !== before) return true;
    await second.query('ROLLBACK');
  }
  return false;
}

/** The server process of the connection; undefined if none is free. A late response ends with its connection. */
async function sessionOf(client: pg.Client): Promise<number | undefined> {
  const asked = client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return (await within(systemClock, RESPONSE_MS, asked))?.rows[0]?.pid;
}
