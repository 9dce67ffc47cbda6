import { LRUCache } from 'lru-cache';
import type { NodeBus, NodeTransport } from '../../../core/cluster/node-bus.ts';
import type { Environment, Route } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { NewRoute, RouteStore } from '../../../core/ports/route-store.ts';

/** How long an entry is used. Bounds the delay of a change whose notification is lost. */
const MAX_AGE_MS = 5_000;
/** Routes of all entries; the least recently used entries are dropped. */
const MAX_ROUTES = 1_000;

/** Carries the notifications of PostgreSQL. */
interface Transport extends NodeTransport {
  /** Another value after each break, in which notifications were lost; undefined while it is broken. */
  readonly session: number | undefined;
}

interface Candidates {
  routes: Route[];
  /** When the read began. */
  readAtMs: number;
}

/**
 * Reads the candidates of a chat from the table once, and again after a change of any route. A change through this store
 * applies to its next call. PostgreSQL notifies all nodes of every change, also of those that other programs
 * make (prisma/functions/routes.sql). While notifications may be lost, nothing is cached. Everything but `candidates`
 * reads the table.
 */
export class CachedRouteStore implements RouteStore {
  readonly #table: RouteStore;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, Candidates>({
    maxSize: MAX_ROUTES,
    sizeCalculation: ({ routes }) => Math.max(routes.length, 1),
  });
  /** The transport's session in which the entries were read. */
  #session: number | undefined;
  /** Number of changes. A read that began before the last one is not cached. */
  #changes = 0;

  constructor(table: RouteStore, bus: NodeBus<Transport>, clock: Clock) {
    this.#table = table;
    this.#transport = bus.transport;
    this.#clock = clock;
    bus.on('routes-changed', () => this.#clear());
  }

  create(route: NewRoute): Promise<Route> {
    return this.#change(() => this.#table.create(route));
  }

  get(id: string): Promise<Route | undefined> {
    return this.#table.get(id);
  }

  list(filter?: { channelId?: string; accountId?: string }): Promise<Route[]> {
    return this.#table.list(filter);
  }

  update(id: string, change: Partial<NewRoute>): Promise<Route | undefined> {
    return this.#change(() => this.#table.update(id, change));
  }

  delete(id: string): Promise<boolean> {
    return this.#change(() => this.#table.delete(id));
  }

  async candidates(query: {
    accountId: string;
    environment: Environment;
    channelIds: string[];
  }): Promise<Route[]> {
    const { session } = this.#transport;
    if (session !== this.#session) {
      this.#clear();
      this.#session = session;
    }
    if (session === undefined) return this.#table.candidates(query);
    const key = JSON.stringify([query.accountId, query.environment, ...query.channelIds]);
    const nowMs = this.#clock.monotonicMs();
    const cached = this.#cache.get(key);
    if (cached && nowMs - cached.readAtMs < MAX_AGE_MS) return cached.routes;
    const changes = this.#changes;
    const routes = await this.#table.candidates(query);
    if (changes === this.#changes) this.#cache.set(key, { routes, readAtMs: nowMs });
    return routes;
  }

  /** A change that failed may have been stored. */
  async #change<T>(change: () => Promise<T>): Promise<T> {
    try {
      return await change();
    } finally {
      this.#clear();
    }
  }

  #clear(): void {
    this.#changes += 1;
    this.#cache.clear();
  }
}
