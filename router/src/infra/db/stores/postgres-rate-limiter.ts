import type { QueryConfig } from 'pg';
import type { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import {
  type LimitResult,
  type RateLimiter,
  WINDOWS,
  type WindowName,
  type WindowState,
} from '../../../core/ports/access.ts';
import type { KeyLimits } from '../../../core/ports/api-key-store.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

const TABLE = 'api_key_rate';

/**
 * Counts requests in PostgreSQL, with one statement for each window. A node that has seen the last request of a window
 * refuses further ones without a statement. The clocks of the nodes decide when a window ends: they should agree.
 */
export class PostgresRateLimiter implements RateLimiter {
  readonly #postgres: Pick<Postgres, 'run'>;
  /** By window and quota; keys with the same limits share them. */
  readonly #limiters = new Map<string, RateLimiterPostgres>();
  #loading: Promise<typeof import('rate-limiter-flexible')> | undefined;

  constructor(postgres: Pick<Postgres, 'run'>) {
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
      storeClient: { query: (statement: QueryConfig) => this.#postgres.run(statement) },
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
