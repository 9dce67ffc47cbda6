import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { errorCode } from '../database-errors.ts';

/** A pooler hands out the session it got back last, so the first look tells; others may use the same pooler. */
const LOOKS = 5;
/** An answer that takes longer waits for a session. */
const ANSWER_MS = 5_000;
/** `protocol_violation`: a pooler that lends sessions for one statement refuses BEGIN with it. */
const PROTOCOL_VIOLATION = '08P01';

/**
 * Whether two connections are served by sessions that change hands, as behind PgBouncer with `pool_mode = transaction`:
 * while the second holds a session by an open transaction, the first is asked which one it has. On connections of
 * their own, straight or through a pooler in session mode, both keep theirs.
 */
export async function sharesSessions(first: pg.Client, second: pg.Client): Promise<boolean> {
  for (let look = 0; look < LOOKS; look++) {
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

/** The server process behind the connection; undefined when none is free for it. */
async function sessionOf(client: pg.Client): Promise<number | undefined> {
  const isAnswered = new AbortController();
  const late = wait(ANSWER_MS, undefined, { signal: isAnswered.signal }).catch(() => undefined);
  const asked = client
    .query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    .then(({ rows }) => rows[0]?.pid);
  try {
    return await Promise.race([asked, late]);
  } finally {
    isAnswered.abort();
    // Asked too late, it ends with its connection.
    asked.catch(() => undefined);
  }
}
