import { randomUUID } from 'node:crypto';
import sql, { type Sql } from 'sql-template-tag';
import { ANY_CHANNEL } from '../../../core/chat-id.ts';
import type { Environment, Route, RouteConfig } from '../../../core/models.ts';
import type { NewRoute, RouteStore } from '../../../core/ports/route-store.ts';
import type { AgentKind } from '../../agents/agent-kind.ts';
import { agentKinds } from '../../agents/agent-kinds.ts';
import { wireConfigOf } from '../../agents/route-config.ts';
import { openConfig, sealConfig } from '../encryption/sealed-config.ts';
import type { Statements } from '../postgres.ts';
import { storableJson, storableOrNull } from './storable-text.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';
import { type RouteRow, routeReader, unreadableRoute } from './stored-route.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Everything of a route but its config, which may be long and damaged. */
const COLUMNS = sql`
  id::text, account_id AS "accountId", channel_id AS "channelId", agent_endpoint AS "agentEndpoint", environment,
  regex_filter AS "regexFilter", priority, enabled, name, created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Routes in PostgreSQL. Every call reads the table. */
export class PostgresRouteStore implements RouteStore {
  readonly #postgres: Statements;
  readonly #routeOf: ReturnType<typeof routeReader>;

  constructor(postgres: Statements, kinds: readonly AgentKind[] = agentKinds) {
    this.#postgres = postgres;
    this.#routeOf = routeReader(kinds);
  }

  async create(route: NewRoute): Promise<Route> {
    const [row] = await withStorage('storing a route', () =>
      this.#postgres.query<RouteRow>(sql`
        INSERT INTO route (id, account_id, channel_id, agent_endpoint, environment, regex_filter, priority, enabled,
          name, config, updated_at)
        VALUES (${timeOrderedId()}::uuid, ${route.accountId}, ${route.channelId}, ${route.agentEndpoint},
          ${route.environment}, ${storableOrNull(route.regexFilter)}, ${route.priority}, ${route.enabled},
          ${storableOrNull(route.name)}, ${this.#sealed(route.config)}::jsonb, now())
        RETURNING ${COLUMNS}, config`),
    );
    return this.#read(row as RouteRow);
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

  async update(id: string, change: Partial<NewRoute>): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const config = change.config && this.#sealed(change.config);
    const [row] = await withStorage('changing a route', () =>
      this.#postgres.query<RouteRow>(sql`
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
        WHERE id = ${id}::uuid RETURNING ${COLUMNS}, config`),
    );
    return row && this.#read(row);
  }

  async delete(id: string): Promise<boolean> {
    if (!UUID.test(id)) return false;
    const count = await withStorage('deleting a route', () =>
      this.#postgres.execute(sql`DELETE FROM route WHERE id = ${id}::uuid`),
    );
    return count > 0;
  }

  async candidates(query: {
    accountId: string;
    environment: Environment;
    channelIds: string[];
  }): Promise<Route[]> {
    return this.#routes(sql`account_id = ${query.accountId} AND environment = ${query.environment}
      AND channel_id = ANY (${[...query.channelIds, ANY_CHANNEL]}::text[])`);
  }

  /**
   * Routes, oldest first. One whose config the database cannot read must not hide the others: they are then read one by
   * one, and that one is returned as damaged.
   */
  async #routes(condition: Sql): Promise<Route[]> {
    const read = <Row>(columns: Sql) =>
      withStorage('reading routes', () =>
        this.#postgres.query<Row>(
          sql`SELECT ${columns} FROM route WHERE ${condition} ORDER BY created_at, id`,
        ),
      );
    try {
      return (await read<RouteRow>(sql`${COLUMNS}, config`)).map((row) => this.#read(row));
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const rows = await read<Omit<RouteRow, 'config'>>(COLUMNS);
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

  #sealed(config: RouteConfig): string {
    return sealConfig(this.#postgres.secrets, storableJson(wireConfigOf(config)));
  }

  /** @throws {StorageDamagedError} the config cannot be decrypted */
  #read(row: RouteRow): Route {
    return this.#routeOf({ ...row, config: openConfig(this.#postgres.secrets, row.config) });
  }
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
