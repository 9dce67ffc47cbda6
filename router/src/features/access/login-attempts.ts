import sql from 'sql-template-tag';
import { FORGET_ATTEMPTS_AFTER_MS } from '../../core/access/login-delays.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** What is counted: attempts to sign in with a name, or from an address. */
export interface AttemptKey {
  /** What is counted. */
  key: string;
  /** Milliseconds until the next attempt is allowed after 1, 2, 3 ... attempts. */
  delaysMs: readonly number[];
}

/**
 * Counts attempts to sign in, over all nodes, by the clock of the database.
 * @throws {StorageUnavailableError} from every method
 */
export interface LoginAttempts {
  /**
   * Counts an attempt before its password is checked, so that many at once cannot pass. An attempt that is refused does not
   * count: it does not delay the next one.
   * @returns 0, or for how many milliseconds attempts are refused
   */
  begin(attempt: AttemptKey): Promise<number>;
  /** Takes back an attempt that succeeded. */
  undo(key: string): Promise<void>;
  /** Counts from 1 again. */
  forget(key: string): Promise<void>;
}

/** Rows that one run of the retention removes. */
const MAX_FORGOTTEN = 10_000;
const FORGET_AFTER = sql`${FORGET_ATTEMPTS_AFTER_MS}::bigint * interval '1 millisecond'`;

/** Attempts to sign in, counted in PostgreSQL for all nodes. */
export class PostgresLoginAttempts implements LoginAttempts {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async begin({ key, delaysMs }: AttemptKey): Promise<number> {
    const delays = sql`${[...delaysMs]}::integer[]`;
    const delayAfter = (count: ReturnType<typeof sql>) =>
      sql`(${delays})[least(${count}, ${delaysMs.length}::integer)] * interval '1 millisecond'`;
    const isForgotten = sql`a.last_at <= clock_timestamp() - ${FORGET_AFTER}`;
    const count = sql`CASE WHEN ${isForgotten} THEN 1 ELSE a.count + 1 END`;
    // Without a delay no clock decides, and no wait is longer than the delay: clocks of two processor cores may differ.
    const isAllowed = sql`(a.allowed_at <= a.last_at OR a.allowed_at <= clock_timestamp())`;
    const counted = await withStorage('counting an attempt to sign in', () =>
      this.#postgres.execute(sql`
        INSERT INTO login_attempt AS a (key, count, last_at, allowed_at)
        VALUES (${key}, 1, statement_timestamp(), statement_timestamp() + ${delayAfter(sql`1`)})
        ON CONFLICT (key) DO UPDATE SET count = ${count}, last_at = statement_timestamp(),
          allowed_at = statement_timestamp() + ${delayAfter(count)}
        WHERE ${isAllowed}`),
    );
    if (counted > 0) return 0;
    const [row] = await withStorage('reading the attempts to sign in', () =>
      this.#postgres.query<{ waitMs: number }>(sql`
        SELECT ceil(extract(epoch FROM least(allowed_at - clock_timestamp(), allowed_at - last_at)) * 1000)::integer AS "waitMs"
        FROM login_attempt WHERE key = ${key}`),
    );
    return Math.max(row?.waitMs ?? 0, 1);
  }

  async undo(key: string): Promise<void> {
    await this.#write(sql`
      UPDATE login_attempt SET count = greatest(count - 1, 0), allowed_at = last_at WHERE key = ${key}`);
  }

  async forget(key: string): Promise<void> {
    // Rows of others that nobody counts any more are removed with it.
    await this.#write(sql`
      DELETE FROM login_attempt WHERE key = ${key} OR last_at <= clock_timestamp() - ${FORGET_AFTER}`);
  }

  async #write(statement: ReturnType<typeof sql>): Promise<void> {
    await withStorage('counting an attempt to sign in', () => this.#postgres.execute(statement));
  }
}

/** Removes counts that no longer matter, some at a time. */
export async function forgetLoginAttempts(postgres: Statements): Promise<void> {
  await withStorage('removing old attempts to sign in', () =>
    postgres.query(sql`
      DELETE FROM login_attempt WHERE key IN (
        SELECT key FROM login_attempt WHERE last_at <= clock_timestamp() - ${FORGET_AFTER} LIMIT ${MAX_FORGOTTEN})`),
  );
}
