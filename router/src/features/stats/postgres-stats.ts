import sql, { empty } from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** What happened in an account in a time. */
interface StatCounts {
  /** Messages that were stored. */
  messages: number;
  /** Turns that ended with an answer. */
  answers: number;
  /** Turns that ended as dead. */
  failures: number;
  /** Answer times by bucket; see `bucketOf`. */
  times: number[];
}

/** What one node counted in an account since its last report. */
export interface AccountCounts extends StatCounts {
  accountId: string;
}

/** What happened on a route. */
export interface RouteCounts {
  routeId: string;
  /** Turns of the route, with any outcome. */
  messages: number;
  /** Those of them that ended as dead. */
  failures: number;
}

export interface StatPoint extends StatCounts {
  /** When the time of the point begins, epoch milliseconds. */
  atMs: number;
}

export interface StatQuery {
  /** Absent: all accounts. */
  accountId?: string;
  fromMs: number;
  /** Length of a point, in milliseconds: whole minutes; from an hour on, whole hours. */
  stepMs: number;
}

/**
 * Counts of all nodes: of accounts by minute, for two days, and by hour, for 60 days; of routes by hour, for two days.
 * @throws {StorageUnavailableError}
 */
export interface Stats {
  /** Adds counts to the minute and the hour of `atMs`, in one transaction. */
  add(atMs: number, counts: readonly AccountCounts[], ofRoutes: readonly RouteCounts[]): Promise<void>;
  /** Points in which something happened, oldest first. */
  read(query: StatQuery): Promise<StatPoint[]>;
  /** The counts of the routes on which something happened, from the hour of `fromMs` on. */
  ofRoutes(fromMs: number): Promise<RouteCounts[]>;
}

const HOUR_MS = 3_600_000;
/** Rows that one run of the retention removes. */
const MAX_FORGOTTEN = 10_000;

/** Counts in PostgreSQL: a row for each account and minute, and one for each account and hour, to which all nodes add. */
export class PostgresStats implements Stats {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async add(atMs: number, counts: readonly AccountCounts[], ofRoutes: readonly RouteCounts[]): Promise<void> {
    if (counts.length === 0 && ofRoutes.length === 0) return;
    await withStorage('storing counts', () =>
      this.#postgres.execute(sql`
        WITH of_routes AS (
          INSERT INTO route_stat AS s (route_id, at, messages, failures)
          SELECT c.route_id, to_timestamp(floor(${atMs}::float8 / ${HOUR_MS}) * 3600), c.messages, c.failures
          FROM json_to_recordset(${JSON.stringify(ofRoutes.map(routeRowOf))}::json)
            AS c (route_id text, messages integer, failures integer)
          ORDER BY c.route_id
          ON CONFLICT (route_id, at) DO UPDATE SET messages = s.messages + excluded.messages,
            failures = s.failures + excluded.failures)
        INSERT INTO stat AS s (account_id, minutes, at, messages, answers, failures, times)
        SELECT c.account_id, m.minutes,
          to_timestamp(floor(${atMs}::float8 / (m.minutes * 60000)) * m.minutes * 60),
          c.messages, c.answers, c.failures, ARRAY(SELECT json_array_elements_text(c.times)::integer)
        FROM json_to_recordset(${JSON.stringify(counts.map(rowOf))}::json)
          AS c (account_id text, messages integer, answers integer, failures integer, times json),
          (VALUES (1), (60)) AS m (minutes)
        -- In one order on every node: two nodes that add concurrently must not wait for each other.
        ORDER BY c.account_id, m.minutes
        ON CONFLICT (account_id, minutes, at) DO UPDATE SET messages = s.messages + excluded.messages,
          answers = s.answers + excluded.answers, failures = s.failures + excluded.failures,
          times = ARRAY(
            SELECT coalesce(t.a, 0) + coalesce(t.b, 0)
            FROM unnest(s.times, excluded.times) WITH ORDINALITY AS t (a, b, n) ORDER BY t.n)`),
    );
  }

  async read({ accountId, fromMs, stepMs }: StatQuery): Promise<StatPoint[]> {
    const minutes = stepMs % HOUR_MS === 0 ? 60 : 1;
    return withStorage('reading counts', () =>
      this.#postgres.query<StatPoint>(sql`
        WITH counted AS MATERIALIZED (
          SELECT floor(extract(epoch FROM at) * 1000 / ${stepMs}::float8)::float8 * ${stepMs}::float8 AS at_ms,
            messages, answers, failures, times
          FROM stat
          WHERE minutes = ${minutes}::integer AND at >= to_timestamp(${fromMs}::float8 / 1000)
            ${accountId === undefined ? empty : sql`AND account_id = ${accountId}`}
        ), bucket AS (
          SELECT at_ms, n, sum(count)::integer AS count FROM counted, unnest(times) WITH ORDINALITY AS t (count, n)
          GROUP BY at_ms, n
        ), histogram AS (
          SELECT at_ms, array_agg(count ORDER BY n) AS times FROM bucket GROUP BY at_ms
        )
        SELECT p.at_ms AS "atMs", p.messages, p.answers, p.failures, coalesce(h.times, '{}') AS times
        FROM (
          SELECT at_ms, sum(messages)::integer AS messages, sum(answers)::integer AS answers,
            sum(failures)::integer AS failures
          FROM counted GROUP BY at_ms) AS p
        LEFT JOIN histogram h ON h.at_ms = p.at_ms ORDER BY p.at_ms`),
    );
  }

  async ofRoutes(fromMs: number): Promise<RouteCounts[]> {
    return withStorage('reading counts of routes', () =>
      this.#postgres.query<RouteCounts>(sql`
        SELECT route_id AS "routeId", sum(messages)::integer AS messages, sum(failures)::integer AS failures
        FROM route_stat WHERE at >= to_timestamp(floor(${fromMs}::float8 / ${HOUR_MS}) * 3600) GROUP BY route_id`),
    );
  }
}

function rowOf({ accountId, ...counts }: AccountCounts) {
  return { account_id: accountId, ...counts };
}

function routeRowOf({ routeId, messages, failures }: RouteCounts) {
  return { route_id: routeId, messages, failures };
}

/** Removes minutes and counts of routes after two days and hours after 60 days, some at a time. @throws {StorageUnavailableError} */
export async function forgetOldStats(postgres: Pick<Statements, 'execute'>): Promise<void> {
  await withStorage('removing old counts', () =>
    postgres.execute(sql`
      WITH of_routes AS (
        DELETE FROM route_stat WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM route_stat WHERE at < now() - interval '2 days' LIMIT ${MAX_FORGOTTEN})))
      DELETE FROM stat WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM stat
        WHERE minutes = 1 AND at < now() - interval '2 days' OR minutes = 60 AND at < now() - interval '60 days'
        LIMIT ${MAX_FORGOTTEN}))`),
  );
}
