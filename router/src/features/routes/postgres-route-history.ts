import sql, { type Sql } from 'sql-template-tag';
import type { Caller } from '../../core/access/caller.ts';
import type { Route } from '../../core/models.ts';
import type { RouteAction } from '../../core/ports/route-store.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { agentKinds } from '../../infra/agents/agent-kinds.ts';
import { openConfig } from '../../infra/db/encryption/secret-cipher.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import {
  newestVersion,
  ROUTE_COLUMNS,
  type RouteRow,
  routeReader,
} from '../../infra/db/stores/postgres-route-store.ts';
import { type Columns, withoutNulls } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** A version of the route table: one change that was stored in one transaction. */
export interface RouteVersion {
  /** From 1, without gaps. */
  number: number;
  at: Date;
  action: RouteAction;
  /** Absent, as is `keyId`: no call of the API made the change, such as the deletion of an account. */
  caller?: Caller['kind'];
  keyId?: string;
  /** Of a rollback: the version that it restored. */
  restored?: number;
  /** How many routes it created, changed and deleted. */
  created: number;
  changed: number;
  deleted: number;
  /** Of these routes, at most five. */
  routes: Array<Pick<Route, 'id' | 'name' | 'channelId'>>;
}

/** What a version did to one route. Absent `before`: it created the route; absent `after`: it deleted the route. */
export interface RouteChange {
  before?: Route;
  after?: Route;
}

/**
 * The versions of the route table. Every change makes one, by any writer; the newest 1,000 are kept.
 * @throws {StorageUnavailableError} from every method
 */
export interface RouteHistory {
  /** Number of the newest version; 0 while there is none. */
  newest(): Promise<number>;
  /** Newest first, of versions before `before`. */
  versions(query: { before?: number; limit: number }): Promise<RouteVersion[]>;
  /** A version with its changes, of the oldest route first. Undefined: not stored, or not any more. */
  version(number: number): Promise<{ version: RouteVersion; changes: RouteChange[] } | undefined>;
  /**
   * The table as this version left it, oldest route first. Exact for every version from the one before the oldest that is
   * stored; routes of accounts that were deleted meanwhile are missing.
   */
  tableAt(number: number): Promise<Route[]>;
}

/** Routes that a version of a list names. */
const MAX_NAMED = 5;

type NamedRoute = Columns<RouteVersion['routes'][number]>;
type VersionRow = Columns<Omit<RouteVersion, 'routes'>> & { routes: NamedRoute[] | null };

/** The versions of the route table in PostgreSQL; see prisma/functions/routes.sql. */
export class PostgresRouteHistory implements RouteHistory {
  readonly #postgres: Statements;
  readonly #routeOf: ReturnType<typeof routeReader>;

  constructor(postgres: Statements, kinds: readonly AgentKind[] = agentKinds) {
    this.#postgres = postgres;
    this.#routeOf = routeReader(kinds);
  }

  newest(): Promise<number> {
    return withStorage('reading the newest version of the routes', () => newestVersion(this.#postgres));
  }

  versions({ before, limit }: { before?: number; limit: number }): Promise<RouteVersion[]> {
    return this.#versions(sql`number < coalesce(${before}::integer, 2147483647)`, limit);
  }

  async version(number: number): Promise<{ version: RouteVersion; changes: RouteChange[] } | undefined> {
    const [version] = await this.#versions(sql`number = ${number}::integer`, 1);
    if (!version) return undefined;
    const side = (column: 'before' | 'after') => {
      const json = column === 'before' ? sql`before` : sql`after`;
      return this.#routes(sql`(
        SELECT r.* FROM route_version_change AS c, jsonb_populate_record(NULL::route, c.${json}) AS r
        WHERE c.version = ${number}::integer AND c.${json} IS NOT NULL)`);
    };
    const [before, after] = await Promise.all([side('before'), side('after')]);
    const afterById = new Map(after.map((route) => [route.id, route]));
    const beforeIds = new Set(before.map(({ id }) => id));
    return {
      version,
      changes: [
        ...before.map((route) => ({ before: route, after: afterById.get(route.id) })),
        ...after.filter(({ id }) => !beforeIds.has(id)).map((route) => ({ after: route })),
      ],
    };
  }

  tableAt(number: number): Promise<Route[]> {
    // A route that later versions changed: as the first of them found it.
    const former = sql`
      SELECT DISTINCT ON (route_id) route_id, before FROM route_version_change WHERE version > ${number}::integer
      ORDER BY route_id, version`;
    return this.#routes(sql`(
      WITH former AS (${former})
      SELECT route.* FROM route WHERE NOT EXISTS (SELECT 1 FROM former WHERE former.route_id = route.id)
      UNION ALL
      SELECT r.* FROM former, jsonb_populate_record(NULL::route, former.before) AS r WHERE former.before IS NOT NULL)`);
  }

  async #versions(condition: Sql, limit: number): Promise<RouteVersion[]> {
    const rows = await withStorage('reading versions of the routes', () =>
      this.#postgres.query<VersionRow>(sql`
        SELECT v.number, v.at, v.action, v.caller, v.key_id AS "keyId", v.restored, c.*
        FROM (SELECT * FROM route_version WHERE ${condition} ORDER BY number DESC LIMIT ${limit}) AS v, LATERAL (
          SELECT count(*) FILTER (WHERE before IS NULL)::integer AS created,
            count(*) FILTER (WHERE before IS NOT NULL AND after IS NOT NULL)::integer AS changed,
            count(*) FILTER (WHERE after IS NULL)::integer AS deleted,
            jsonb_agg(jsonb_build_object('id', route_id, 'name', coalesce(after, before) -> 'name',
              'channelId', coalesce(after, before) -> 'channel_id') ORDER BY route_id)
              FILTER (WHERE position <= ${MAX_NAMED}) AS routes
          FROM (SELECT *, row_number() OVER (ORDER BY route_id) AS position
            FROM route_version_change WHERE version = v.number) AS change) AS c
        ORDER BY v.number DESC`),
    );
    return rows.map(({ routes, ...version }) => ({
      ...withoutNulls(version),
      routes: (routes ?? []).map((route) => withoutNulls(route)),
    }));
  }

  /** The routes of a relation with the columns of `route`, oldest first. */
  async #routes(relation: Sql): Promise<Route[]> {
    const rows = await withStorage('reading former routes', () =>
      this.#postgres.query<RouteRow>(
        sql`SELECT ${ROUTE_COLUMNS}, config FROM ${relation} AS route ORDER BY created_at, route.id`,
      ),
    );
    return rows.map((row) =>
      this.#routeOf({ ...row, config: openConfig(this.#postgres.secrets, row.config) }),
    );
  }
}
