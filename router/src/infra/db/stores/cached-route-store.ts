import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { Environment, Route } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { RouteChangeBy } from '../../../core/ports/route-history.ts';
import type { NewRoute, RouteChanges, RouteCheck, RouteStore } from '../../../core/ports/route-store.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';

/** Routes of all entries. */
const MAX_ROUTES = 1_000;

/**
 * Reads the candidates of a chat from the table once, and again after a change of any route. A change through this store
 * applies to its next call. PostgreSQL notifies all nodes of every change by any writer (prisma/functions/routes.sql).
 * Everything but `candidates` reads the table.
 */
export class CachedRouteStore implements RouteStore {
  readonly #table: RouteStore;
  readonly #cache: NotifiedCache<Route[]>;

  constructor(table: RouteStore, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#cache = new NotifiedCache(bus.transport, clock, {
      maxSize: MAX_ROUTES,
      sizeOf: ({ length }) => length,
    });
    bus.on('routes-changed', () => this.#cache.clear());
  }

  create(route: NewRoute, by?: RouteChangeBy): Promise<Route> {
    return this.#cache.change(() => this.#table.create(route, by));
  }

  get(id: string): Promise<Route | undefined> {
    return this.#table.get(id);
  }

  list(filter?: { channelId?: string; accountId?: string }): Promise<Route[]> {
    return this.#table.list(filter);
  }

  update(
    id: string,
    change: Partial<NewRoute>,
    by?: RouteChangeBy,
    check?: RouteCheck,
  ): Promise<Route | undefined> {
    return this.#cache.change(() => this.#table.update(id, change, by, check));
  }

  delete(id: string, by?: RouteChangeBy, check?: RouteCheck): Promise<boolean> {
    return this.#cache.change(() => this.#table.delete(id, by, check));
  }

  write(changes: RouteChanges, by: RouteChangeBy, expected: number): Promise<number | 'outdated'> {
    return this.#cache.change(() => this.#table.write(changes, by, expected));
  }

  restore(version: number, by: RouteChangeBy, expected: number): Promise<number | 'outdated'> {
    return this.#cache.change(() => this.#table.restore(version, by, expected));
  }

  candidates(query: { accountId: string; environment: Environment; channelIds: string[] }): Promise<Route[]> {
    const key = JSON.stringify([query.accountId, query.environment, ...query.channelIds]);
    return this.#cache.read(key, () => this.#table.candidates(query));
  }
}
