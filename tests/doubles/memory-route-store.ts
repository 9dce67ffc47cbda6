import { randomUUID } from 'node:crypto';
import { ANY_CHANNEL } from '../../router/src/core/chat-id.ts';
import type { Environment, Route } from '../../router/src/core/models.ts';
import type { NewRoute, RouteStore } from '../../router/src/core/ports/route-store.ts';

/** Routes in memory, for tests. Rows given out are copies. */
export class MemoryRouteStore implements RouteStore {
  readonly #routes = new Map<string, Route>();
  readonly #now: () => number;
  readonly #newId: () => string;

  constructor(now: () => number = Date.now, newId: () => string = randomUUID) {
    this.#now = now;
    this.#newId = newId;
  }

  async create(route: NewRoute): Promise<Route> {
    const at = new Date(this.#now());
    const made: Route = { ...structuredClone(route), id: this.#newId(), createdAt: at, updatedAt: at };
    this.#routes.set(made.id, made);
    return structuredClone(made);
  }

  async get(id: string): Promise<Route | undefined> {
    return structuredClone(this.#routes.get(id));
  }

  async list(filter: { channelId?: string; accountId?: string } = {}): Promise<Route[]> {
    return this.#where(
      (route) =>
        route.channelId === (filter.channelId ?? route.channelId) &&
        route.accountId === (filter.accountId ?? route.accountId),
    );
  }

  async update(id: string, change: Partial<NewRoute>): Promise<Route | undefined> {
    const route = this.#routes.get(id);
    if (!route) return undefined;
    const clearable = new Set(['regexFilter', 'name']);
    const named = Object.entries(change).filter(
      ([field, value]) => value !== undefined || clearable.has(field),
    );
    Object.assign(route, structuredClone(Object.fromEntries(named)), { updatedAt: new Date(this.#now()) });
    return structuredClone(route);
  }

  async delete(id: string): Promise<boolean> {
    return this.#routes.delete(id);
  }

  async candidates(query: {
    accountId: string;
    environment: Environment;
    channelIds: string[];
  }): Promise<Route[]> {
    return this.#where(
      (route) =>
        route.accountId === query.accountId &&
        route.environment === query.environment &&
        (route.channelId === ANY_CHANNEL || query.channelIds.includes(route.channelId)),
    );
  }

  /** Oldest first: the map keeps the order of creation. */
  #where(matches: (route: Route) => boolean): Route[] {
    return structuredClone([...this.#routes.values()].filter(matches));
  }
}
