import type { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { Sql } from 'sql-template-tag';
import type { KeyLimits } from '../../../core/ports/api-key-store.ts';
import {
  type LimitResult,
  type RateLimiter,
  WINDOWS,
  type WindowName,
  type WindowState,
} from '../../../core/ports/rate-limiter.ts';
import type { Statements } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

const TABLE = 'api_key_rate';

interface Row {
  points: number;
  expire: bigint | null;
}

/**
 * Counts requests in PostgreSQL, with one statement for each window. A node that has seen the last request of a window
 * refuses further ones without a statement. The clocks of the nodes decide when a window ends: they should agree.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #postgres: Pick<Statements, 'query'>;
  /** By window and quota; keys with the same limits share them. */
  readonly #limiters = new Map<string, RateLimiterPostgres>();
  #loading: Promise<typeof import('rate-limiter-flexible')> | undefined;

  constructor(postgres: Pick<Statements, 'query'>) {
    this.#postgres = postgres;
  }

  async count(keyId: string, limits: KeyLimits): Promise<LimitResult> {
    const windows: WindowState[] = [];
    for (const { name, seconds, quotaOf } of WINDOWS) {
      const limiter = await this.#limiter(name, seconds, quotaOf(limits));
      const { isAllowed, result } = await withStorage('counting the requests of a key', () =>
        consume(limiter, keyId),
      );
      windows.push({ name, remaining: result.remainingPoints, resetMs: result.msBeforeNext });
      if (!isAllowed) return { isAllowed, windows };
    }
    return { isAllowed: true, windows };
  }

  /** Loaded with the first request of a key: a node without keys does not need it. */
  async #limiter(name: WindowName, seconds: number, quota: number): Promise<RateLimiterPostgres> {
    const id = `${name} ${quota}`;
    this.#loading ??= import('rate-limiter-flexible');
    const { RateLimiterPostgres } = await this.#loading;
    const known = this.#limiters.get(id);
    if (known) return known;
    const limiter = new RateLimiterPostgres({
      storeClient: { query: (statement: Statement) => this.#query(statement) },
      storeType: 'client',
      tableName: TABLE,
      tableCreated: true,
      // One of them removes ended windows of all, every five minutes.
      clearExpiredByTimeout: this.#limiters.size === 0,
      keyPrefix: name,
      points: quota,
      duration: seconds,
      inMemoryBlockOnConsumed: quota,
    });
    this.#limiters.set(id, limiter);
    return limiter;
  }

  /** On wa2ai's own connections, in the form of `pg`. */
  async #query({ text, values }: Statement): Promise<{ rows: object[]; rowCount: number }> {
    const rows = await this.#postgres.query<Row>(numbered(text, values));
    return {
      rows: rows.map(({ points, expire }) => ({ points, expire: expire === null ? null : Number(expire) })),
      rowCount: rows.length,
    };
  }
}

/** A statement of the library. */
interface Statement {
  /** With $1, $2 ..., each of which may be repeated. */
  text: string;
  values: unknown[];
}

function numbered(text: string, values: readonly unknown[]): Sql {
  const [first = '', ...rest] = text.split(/\$(\d+)/);
  const strings = [first, ...rest.filter((_part, index) => index % 2 === 1)];
  const numbers = rest.filter((_part, index) => index % 2 === 0);
  return new Sql(
    strings,
    numbers.map((number) => values[Number(number) - 1]),
  );
}

/** @throws what the database throws */
async function consume(
  limiter: RateLimiterPostgres,
  keyId: string,
): Promise<{ isAllowed: boolean; result: RateLimiterRes }> {
  try {
    return { isAllowed: true, result: await limiter.consume(keyId) };
  } catch (refused) {
    // The library rejects with its result when the limit is reached, and with an error when it could not count.
    if (refused instanceof Error) throw refused;
    return { isAllowed: false, result: refused as RateLimiterRes };
  }
}
