import { ANY_CHANNEL } from '../../core/chat-id.ts';
import type { Environment, Route, RouteConfig } from '../../core/models.ts';
import type { NewRoute, RouteStore } from '../../core/ports/route-store.ts';
import type { Prisma, PrismaClient, Route as RouteRow } from './generated/client.ts';
import { storableText } from './storable.ts';
import { withStorage } from './storage-errors.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Routes in PostgreSQL. Nothing is cached, so each node sees a change with its next message. */
export class PrismaRouteStore implements RouteStore {
  readonly #prisma: PrismaClient;

  constructor(prisma: PrismaClient) {
    this.#prisma = prisma;
  }

  async create(route: NewRoute): Promise<Route> {
    const row = await withStorage('storing a route', () =>
      this.#prisma.route.create({
        data: {
          accountId: route.accountId,
          channelId: route.channelId,
          agentEndpoint: route.agentEndpoint,
          environment: route.environment,
          regexFilter: storable(route.regexFilter),
          priority: route.priority,
          enabled: route.enabled,
          name: storable(route.name),
          config: storableConfig(route.config),
        },
      }),
    );
    return toRoute(row);
  }

  async get(id: string): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const row = await withStorage('reading a route', () => this.#prisma.route.findUnique({ where: { id } }));
    return row ? toRoute(row) : undefined;
  }

  async list(filter: { channelId?: string; accountId?: string } = {}): Promise<Route[]> {
    const rows = await withStorage('reading routes', () =>
      this.#prisma.route.findMany({
        where: { channelId: filter.channelId, accountId: filter.accountId },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      }),
    );
    return rows.map(toRoute);
  }

  async update(id: string, change: Partial<NewRoute>): Promise<Route | undefined> {
    if (!UUID.test(id)) return undefined;
    const rows = await withStorage('changing a route', () =>
      this.#prisma.route.updateManyAndReturn({ where: { id }, data: toChange(change) }),
    );
    return rows[0] && toRoute(rows[0]);
  }

  async delete(id: string): Promise<boolean> {
    if (!UUID.test(id)) return false;
    const { count } = await withStorage('deleting a route', () =>
      this.#prisma.route.deleteMany({ where: { id } }),
    );
    return count > 0;
  }

  async candidates(query: {
    accountId: string;
    environment: Environment;
    channelIds: string[];
  }): Promise<Route[]> {
    const channelIds = [...query.channelIds, ANY_CHANNEL];
    const rows = await withStorage(
      'looking for the routes of a chat',
      () => this.#prisma.$queryRaw<RouteRow[]>`
        SELECT id::text, account_id AS "accountId", channel_id AS "channelId", agent_endpoint AS "agentEndpoint",
          environment, regex_filter AS "regexFilter", priority, enabled, name, config,
          created_at AS "createdAt", updated_at AS "updatedAt"
        FROM route
        WHERE account_id = ${query.accountId} AND environment = ${query.environment}
          AND channel_id = ANY (${channelIds}::text[])
        ORDER BY created_at, id`,
    );
    return rows.map(toRoute);
  }
}

/** Only the fields that are there; an optional one that is there and undefined is cleared. */
function toChange(change: Partial<NewRoute>): Prisma.RouteUpdateManyMutationInput {
  return {
    accountId: change.accountId,
    channelId: change.channelId,
    agentEndpoint: change.agentEndpoint,
    environment: change.environment,
    priority: change.priority,
    enabled: change.enabled,
    ...(Object.hasOwn(change, 'regexFilter') && { regexFilter: storable(change.regexFilter) }),
    ...(Object.hasOwn(change, 'name') && { name: storable(change.name) }),
    ...(change.config && { config: storableConfig(change.config) }),
  };
}

function storable(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}

/** A copy as JSON, which drops what is undefined. */
function storableConfig(config: RouteConfig): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(config), (_key, part: unknown) =>
    typeof part === 'string' ? storableText(part) : part,
  ) as Prisma.InputJsonObject;
}

function toRoute(row: RouteRow): Route {
  return {
    id: row.id,
    accountId: row.accountId,
    channelId: row.channelId,
    agentEndpoint: row.agentEndpoint,
    environment: row.environment as Environment,
    regexFilter: row.regexFilter ?? undefined,
    priority: row.priority,
    enabled: row.enabled,
    name: row.name ?? undefined,
    config: row.config as RouteConfig,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
