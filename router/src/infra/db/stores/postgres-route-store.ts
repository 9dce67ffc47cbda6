import { randomUUID } from 'node:crypto';
import sql, { type Sql } from 'sql-template-tag';
import { ANY_CHANNEL } from '../../../core/chat-id.ts';
import { nodeMessage } from '../../../core/cluster/node-bus.ts';
import type { Environment, Route, RouteConfig } from '../../../core/models.ts';
import type {
  NewRoute,
  RouteChangeBy,
  RouteChanges,
  RouteCheck,
  RouteStore,
} from '../../../core/ports/route-store.ts';
import type { AgentKind } from '../../agents/agent-kind.ts';
import { agentKinds } from '../../agents/agent-kinds.ts';
import {
  routeConfigOf,
  storedConfigCheck,
  type WireConfig,
  wireConfigOf,
  withNewConfigNames,
} from '../../agents/route-config.ts';
import { openConfig, sealConfig } from '../encryption/secret-cipher.ts';
import type { Postgres, Statements } from '../postgres.ts';
import { type CacheNodes, NotifiedCache } from './notified-cache.ts';
import { type Columns, storableJson, storableOrNull, withoutNulls } from './rows.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** As the trigger of each change takes it (prisma/functions/routes.sql), before any row is locked. */
const LOCK_VERSIONS = sql`SELECT pg_advisory_xact_lock(hashtextextended('wa2ai route versions', 0))`;

/** PostgreSQL: a route changed. */
export const routesChanged = nodeMessage('routes-changed');

/** Of the candidates in the cache, together. */
const MAX_ROUTES = 1_000;

/**
 * Routes in PostgreSQL. Reads the candidates of a chat once, and again after a change of any route by any writer
 * (prisma/functions/routes.sql); every other call reads the table, and so does each without `nodes`.
 */
export class PostgresRouteStore implements RouteStore {
  readonly #postgres: Pick<Postgres, keyof Statements | 'transaction'>;
  readonly #candidates: NotifiedCache<Route[]>;
  readonly #routeOf: ReturnType<typeof routeReader>;

  constructor(
    postgres: Pick<Postgres, keyof Statements | 'transaction'>,
    nodes?: CacheNodes,
    kinds: readonly AgentKind[] = agentKinds,
  ) {
    this.#postgres = postgres;
    this.#candidates = new NotifiedCache(nodes, {
      changed: routesChanged,
      maxSize: MAX_ROUTES,
      sizeOf: ({ length }) => length,
    });
    this.#routeOf = routeReader(kinds);
  }

  async create(route: NewRoute, by?: RouteChangeBy, id?: string): Promise<Route> {
    const row = await this.#write('storing a route', () =>
      this.#change(by, (on) => this.#insert(on, route, id)),
    );
    return this.#read(row);
  }

  async get(id: string): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const [route] = await this.#routes(sql`id = ${id}::uuid`);
    return route;
  }

  async list({ channelId, accountId }: { channelId?: string; accountId?: string } = {}): Promise<Route[]> {
    return this.#routes(
      sql`channel_id = coalesce(${channelId}, channel_id) AND account_id = coalesce(${accountId}, account_id)`,
    );
  }

  async update(
    id: string,
    change: Partial<NewRoute>,
    by?: RouteChangeBy,
    check?: RouteCheck,
  ): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const row = await this.#write('changing a route', () =>
      this.#checked(id, by, check, (on) => this.#updateRow(on, id, change)),
    );
    return row && this.#read(row);
  }

  async delete(id: string, by?: RouteChangeBy, check?: RouteCheck): Promise<boolean> {
    if (!UUID.test(id)) return false;
    const count = await this.#write('deleting a route', () =>
      this.#checked(id, by, check, (on) => on.execute(sql`DELETE FROM route WHERE id = ${id}::uuid`)),
    );
    return count > 0;
  }

  write(changes: RouteChanges, by: RouteChangeBy, expected: number): Promise<number | 'outdated'> {
    return this.#write('changing routes', () =>
      this.#versioned(by, expected, async (on) => {
        await on.execute(sql`DELETE FROM route WHERE id = ANY (${changes.delete}::uuid[])`);
        for (const { id, change } of changes.update) await this.#updateRow(on, id, change);
        for (const { id, ...route } of changes.create) await this.#insert(on, route, id);
      }),
    );
  }

  restore(version: number, by: RouteChangeBy, expected: number): Promise<number | 'outdated'> {
    return this.#write('restoring routes', () =>
      this.#versioned({ ...by, restored: version }, expected, async (on) => {
        const former = sql`
          SELECT DISTINCT ON (route_id) route_id, before FROM route_version_change WHERE version > ${version}::integer
          ORDER BY route_id, version`;
        await on.execute(sql`
          DELETE FROM route WHERE id IN (SELECT route_id FROM (${former}) AS former WHERE before IS NULL)`);
        // Rows as they are stored: secrets stay encrypted.
        await on.execute(sql`
          INSERT INTO route (id, account_id, channel_id, agent_endpoint, environment, regex_filter, priority, enabled,
            name, config, created_at, updated_at)
          SELECT r.id, r.account_id, r.channel_id, r.agent_endpoint, r.environment, r.regex_filter, r.priority, r.enabled,
            r.name, r.config, r.created_at, now()
          FROM (${former}) AS former, jsonb_populate_record(NULL::route, former.before) AS r
          WHERE former.before IS NOT NULL
          ON CONFLICT (id) DO UPDATE SET account_id = excluded.account_id, channel_id = excluded.channel_id,
            agent_endpoint = excluded.agent_endpoint, environment = excluded.environment,
            regex_filter = excluded.regex_filter, priority = excluded.priority, enabled = excluded.enabled,
            name = excluded.name, config = excluded.config, created_at = excluded.created_at,
            updated_at = excluded.updated_at
          WHERE (route.account_id, route.channel_id, route.agent_endpoint, route.environment, route.regex_filter,
              route.priority, route.enabled, route.name, route.config, route.created_at)
            IS DISTINCT FROM (excluded.account_id, excluded.channel_id, excluded.agent_endpoint, excluded.environment,
              excluded.regex_filter, excluded.priority, excluded.enabled, excluded.name, excluded.config,
              excluded.created_at)`);
      }),
    );
  }

  candidates(query: { accountId: string; environment: Environment; channelIds: string[] }): Promise<Route[]> {
    const { accountId, environment, channelIds } = query;
    return this.#candidates.read(JSON.stringify([accountId, environment, ...channelIds]), () =>
      this.#routes(sql`account_id = ${accountId} AND environment = ${environment}
        AND channel_id = ANY (${[...channelIds, ANY_CHANNEL]}::text[])`),
    );
  }

  #write<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.#candidates.change(() => withStorage(what, work));
  }

  /**
   * Routes, oldest first. One whose config the database cannot read must not hide the others: they are then read one by
   * one, and that one is returned as damaged.
   */
  async #routes(condition: Sql, on: Statements = this.#postgres): Promise<Route[]> {
    const read = <Row>(columns: Sql) =>
      withStorage('reading routes', () =>
        on.query<Row>(sql`SELECT ${columns} FROM route WHERE ${condition} ORDER BY created_at, id`),
      );
    try {
      return (await read<RouteRow>(sql`${ROUTE_COLUMNS}, config`)).map((row) => this.#read(row));
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const rows = await read<Omit<RouteRow, 'config'>>(ROUTE_COLUMNS);
    return Promise.all(rows.map((row) => this.#orUnreadable(row)));
  }

  async #orUnreadable(row: Omit<RouteRow, 'config'>): Promise<Route> {
    try {
      const [found] = await withStorage('reading a route', () =>
        this.#postgres.query<{ config: unknown }>(sql`SELECT config FROM route WHERE id = ${row.id}::uuid`),
      );
      return this.#read({ ...row, config: found?.config });
    } catch (error) {
      if (error instanceof StorageDamagedError) return unreadableRoute(row);
      throw error;
    }
  }

  async #insert(on: Statements, route: NewRoute, id = timeOrderedId()): Promise<RouteRow> {
    const [row] = await on.query<RouteRow>(sql`
      INSERT INTO route (id, account_id, channel_id, agent_endpoint, environment, regex_filter, priority, enabled,
        name, config, updated_at)
      VALUES (${id}::uuid, ${route.accountId}, ${route.channelId}, ${route.agentEndpoint},
        ${route.environment}, ${storableOrNull(route.regexFilter)}, ${route.priority}, ${route.enabled},
        ${storableOrNull(route.name)}, ${this.#sealed(route.config)}::jsonb, now())
      RETURNING ${ROUTE_COLUMNS}, config`);
    return row as RouteRow;
  }

  async #updateRow(on: Statements, id: string, change: Partial<NewRoute>): Promise<RouteRow | undefined> {
    const config = change.config && this.#sealed(change.config);
    const [row] = await on.query<RouteRow>(sql`
      UPDATE route SET
        account_id = coalesce(${change.accountId}, account_id),
        channel_id = coalesce(${change.channelId}, channel_id),
        agent_endpoint = coalesce(${change.agentEndpoint}, agent_endpoint),
        environment = coalesce(${change.environment}, environment),
        priority = coalesce(${change.priority}, priority),
        enabled = coalesce(${change.enabled}, enabled),
        regex_filter = CASE WHEN ${Object.hasOwn(change, 'regexFilter')}
          THEN ${storableOrNull(change.regexFilter)} ELSE regex_filter END,
        name = CASE WHEN ${Object.hasOwn(change, 'name')} THEN ${storableOrNull(change.name)} ELSE name END,
        config = coalesce(${config}::jsonb, config),
        updated_at = now()
      WHERE id = ${id}::uuid RETURNING ${ROUTE_COLUMNS}, config`);
    return row;
  }

  /** Runs a change; its version is that of `by`. */
  #change<T>(
    by: RouteChangeBy | undefined,
    work: (on: Statements) => Promise<T>,
    transaction?: Statements,
  ): Promise<T> {
    if (!by) return work(transaction ?? this.#postgres);
    const named = async (on: Statements) => {
      await on.execute(sql`SELECT set_config('wa2ai.route_change', ${JSON.stringify(by)}, true)`);
      return work(on);
    };
    return transaction ? named(transaction) : this.#postgres.transaction(named);
  }

  /** Runs a change of one route after its check; no other change of routes comes between them. */
  #checked<T>(
    id: string,
    by: RouteChangeBy | undefined,
    check: RouteCheck | undefined,
    work: (on: Statements) => Promise<T>,
  ): Promise<T> {
    if (!check) return this.#change(by, work);
    return this.#postgres.transaction(async (on) => {
      await on.execute(LOCK_VERSIONS);
      const [route] = await this.#routes(sql`id = ${id}::uuid`, on);
      if (route) check(route);
      return this.#change(by, work, on);
    });
  }

  /** Runs changes as one version, unless there is a newer one than expected. */
  #versioned(
    by: RouteChangeBy & { restored?: number },
    expected: number,
    work: (on: Statements) => Promise<void>,
  ): Promise<number | 'outdated'> {
    return this.#change(by, async (on) => {
      await on.execute(LOCK_VERSIONS);
      if ((await newestVersion(on)) !== expected) return 'outdated';
      await work(on);
      return newestVersion(on);
    });
  }

  #sealed(config: RouteConfig): string {
    return sealConfig(this.#postgres.secrets, storableJson(wireConfigOf(config)));
  }

  /** @throws {StorageDamagedError} the config cannot be decrypted */
  #read(row: RouteRow): Route {
    return this.#routeOf({ ...row, config: openConfig(this.#postgres.secrets, row.config) });
  }
}

/** Number of the newest version of the table; 0 while there is none. Throws as `query` does. */
export async function newestVersion(on: Statements): Promise<number> {
  const [row] = await on.query<{ number: number }>(
    sql`SELECT coalesce(max(number), 0) AS number FROM route_version`,
  );
  return row?.number ?? 0;
}

/**
 * A UUID of version 7 whose time continues below the millisecond (RFC 9562, 6.2, method 3): routes that this process
 * creates within a millisecond, which is what `created_at` stores, are read in the order of their creation.
 */
function timeOrderedId(): string {
  const ms = performance.timeOrigin + performance.now();
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  const fraction = Math.floor((ms % 1) * 4_096)
    .toString(16)
    .padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${fraction}-${randomUUID().slice(19)}`;
}

/** Everything of a route but its config, which may be long and damaged. */
export const ROUTE_COLUMNS = sql`
  id::text, account_id AS "accountId", channel_id AS "channelId", agent_endpoint AS "agentEndpoint", environment,
  regex_filter AS "regexFilter", priority, enabled, name, created_at AS "createdAt", updated_at AS "updatedAt"`;

/** A row of `route`, with its config decrypted. */
export type RouteRow = Columns<Omit<Route, 'config' | 'damage'>> & { config: unknown };

/** Makes the function that reads a stored route; `damage` says why its config cannot be used. */
export function routeReader(kinds: readonly AgentKind[]): (row: RouteRow) => Route {
  const problemOf = storedConfigCheck(kinds);
  return ({ config: stored, ...columns }) => {
    const config = withNewConfigNames(stored).value;
    const damage = problemOf(config);
    if (damage !== undefined) return { ...withoutNulls(columns), config: {}, damage };
    return { ...withoutNulls(columns), config: routeConfigOf(kinds, config as WireConfig) };
  };
}

/** A route whose config the database cannot read. */
export function unreadableRoute(columns: Omit<RouteRow, 'config'>): Route {
  return { ...withoutNulls(columns), config: {}, damage: 'the database cannot read its config' };
}
