import sql from 'sql-template-tag';
import { ANY_CHANNEL } from '../../../core/chat-id.ts';
import { cleanText } from '../../../core/clean-text.ts';
import type { Environment, Route, RouteConfig } from '../../../core/models.ts';
import type { NewRoute, RouteStore } from '../../../core/ports/route-store.ts';
import type { AgentKind } from '../../agents/agent-kind.ts';
import { agentKinds } from '../../agents/agent-kinds.ts';
import { wireConfigOf } from '../../agents/route-config.ts';
import { openConfig, sealConfig } from '../encryption/sealed-config.ts';
import type { Prisma, Route as RouteRow } from '../generated/client.ts';
import type { Postgres } from '../postgres.ts';
import { storableOrNull } from './storable-text.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';
import { routeReader, unreadableRoute } from './stored-route.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Routes in PostgreSQL. Nothing is cached, so each node sees a change with its next message. */
export class PrismaRouteStore implements RouteStore {
  readonly #postgres: Postgres;
  readonly #routeOf: ReturnType<typeof routeReader>;

  constructor(postgres: Postgres, kinds: readonly AgentKind[] = agentKinds) {
    this.#postgres = postgres;
    this.#routeOf = routeReader(kinds);
  }

  async create(route: NewRoute): Promise<Route> {
    const row = await withStorage('storing a route', () =>
      this.#postgres.prisma.route.create({
        data: {
          accountId: route.accountId,
          channelId: route.channelId,
          agentEndpoint: route.agentEndpoint,
          environment: route.environment,
          regexFilter: storableOrNull(route.regexFilter),
          priority: route.priority,
          enabled: route.enabled,
          name: storableOrNull(route.name),
          config: this.#sealed(route.config),
        },
      }),
    );
    return this.#read(row);
  }

  async get(id: string): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const [route] = await this.#readable(() => this.#postgres.prisma.route.findMany({ where: { id } }), {
      id,
    });
    return route;
  }

  async list(filter: { channelId?: string; accountId?: string } = {}): Promise<Route[]> {
    const { channelId, accountId } = filter;
    return this.#readable(
      () =>
        this.#postgres.prisma.route.findMany({
          where: { channelId, accountId },
          orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        }),
      { channelId, accountId },
    );
  }

  async update(id: string, change: Partial<NewRoute>): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const rows = await withStorage('changing a route', () =>
      this.#postgres.prisma.route.updateManyAndReturn({ where: { id }, data: this.#toChange(change) }),
    );
    return rows[0] && this.#read(rows[0]);
  }

  async delete(id: string): Promise<boolean> {
    if (!UUID.test(id)) return false;
    const { count } = await withStorage('deleting a route', () =>
      this.#postgres.prisma.route.deleteMany({ where: { id } }),
    );
    return count > 0;
  }

  async candidates(query: {
    accountId: string;
    environment: Environment;
    channelIds: string[];
  }): Promise<Route[]> {
    const channelIds = [...query.channelIds, ANY_CHANNEL];
    const { accountId, environment } = query;
    const where = { accountId, environment, channelId: { in: channelIds } };
    return this.#readable(
      () =>
        this.#postgres.query<RouteRow>(sql`
        SELECT id::text, account_id AS "accountId", channel_id AS "channelId", agent_endpoint AS "agentEndpoint",
          environment, regex_filter AS "regexFilter", priority, enabled, name, config,
          created_at AS "createdAt", updated_at AS "updatedAt"
        FROM route
        WHERE account_id = ${query.accountId} AND environment = ${query.environment}
          AND channel_id = ANY (${channelIds}::text[])
        ORDER BY created_at, id`),
      where,
    );
  }

  /**
   * Routes, oldest first. One whose config the database cannot read must not hide the others: they are then read one by
   * one, and that one is returned as damaged.
   */
  async #readable(read: () => Promise<RouteRow[]>, where: Prisma.RouteWhereInput): Promise<Route[]> {
    try {
      return (await withStorage('reading routes', read)).map((row) => this.#read(row));
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const orderBy = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
    const rows = await withStorage('reading routes', () =>
      this.#postgres.prisma.route.findMany({ where, orderBy, omit: { config: true } }),
    );
    return Promise.all(rows.map((row) => this.#orUnreadable(row)));
  }

  async #orUnreadable(row: Omit<RouteRow, 'config'>): Promise<Route> {
    const { id } = row;
    try {
      // No `findUnique`: Prisma puts several of one moment into one statement.
      const found = await withStorage('reading a route', () =>
        this.#postgres.prisma.route.findFirstOrThrow({ where: { id }, select: { config: true } }),
      );
      return this.#read({ ...row, config: found.config });
    } catch (error) {
      if (error instanceof StorageDamagedError) return unreadableRoute(row);
      throw error;
    }
  }

  /** Only the given fields; an optional one that is given as undefined is cleared. */
  #toChange(change: Partial<NewRoute>): Prisma.RouteUpdateManyMutationInput {
    return {
      accountId: change.accountId,
      channelId: change.channelId,
      agentEndpoint: change.agentEndpoint,
      environment: change.environment,
      priority: change.priority,
      enabled: change.enabled,
      ...(Object.hasOwn(change, 'regexFilter') && { regexFilter: storableOrNull(change.regexFilter) }),
      ...(Object.hasOwn(change, 'name') && { name: storableOrNull(change.name) }),
      ...(change.config && { config: this.#sealed(change.config) }),
    };
  }

  #sealed(config: RouteConfig): Prisma.InputJsonObject {
    return sealConfig(this.#postgres.secrets, storableConfig(config));
  }

  /** @throws {StorageDamagedError} the config cannot be decrypted */
  #read(row: RouteRow): Route {
    const config = openConfig(this.#postgres.secrets, row.config) as RouteRow['config'];
    return this.#routeOf({ ...row, config });
  }
}

/** A copy as JSON, which drops what is undefined. */
function storableConfig(config: RouteConfig): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(wireConfigOf(config)), (_key, part: unknown) =>
    typeof part === 'string' ? cleanText(part) : part,
  ) as Prisma.InputJsonObject;
}
