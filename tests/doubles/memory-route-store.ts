import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ANY_CHANNEL } from '../../router/src/core/chat-id.ts';
import type { Environment, Route } from '../../router/src/core/models.ts';
import type {
  NewRoute,
  RouteAction,
  RouteChangeBy,
  RouteChanges,
  RouteCheck,
  RouteStore,
} from '../../router/src/core/ports/route-store.ts';
import type {
  RouteChange,
  RouteHistory,
  RouteVersion,
} from '../../router/src/features/routes/postgres-route-history.ts';

const MAX_VERSIONS = 1_000;

interface StoredVersion {
  number: number;
  at: Date;
  by: Partial<RouteChangeBy> & { action: RouteAction; restored?: number };
  changes: Map<string, RouteChange>;
}

/** Routes and their versions in memory, for tests. Rows given out are copies. */
export class MemoryRouteStore implements RouteStore, RouteHistory {
  #routes = new Map<string, Route>();
  readonly #versions: StoredVersion[] = [];
  readonly #now: () => number;
  readonly #newId: () => string;

  constructor(now: () => number = Date.now, newId: () => string = randomUUID) {
    this.#now = now;
    this.#newId = newId;
  }

  async create(route: NewRoute, by?: RouteChangeBy, id?: string): Promise<Route> {
    return this.#versioned(by ?? { action: 'create' }, () => this.#create(route, id));
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

  async update(
    id: string,
    change: Partial<NewRoute>,
    by?: RouteChangeBy,
    check?: RouteCheck,
  ): Promise<Route | undefined> {
    this.#check(id, check);
    return this.#versioned(by ?? { action: 'change' }, () => this.#update(id, change));
  }

  async delete(id: string, by?: RouteChangeBy, check?: RouteCheck): Promise<boolean> {
    this.#check(id, check);
    return this.#versioned(by ?? { action: 'delete' }, () => this.#routes.delete(id));
  }

  async write(changes: RouteChanges, by: RouteChangeBy, expected: number): Promise<number | 'outdated'> {
    if (expected !== this.#newest()) return 'outdated';
    this.#versioned(by, () => {
      for (const id of changes.delete) this.#routes.delete(id);
      for (const { id, change } of changes.update) this.#update(id, change);
      for (const { id, ...route } of changes.create) this.#create(route, id);
    });
    return this.newest();
  }

  async restore(version: number, by: RouteChangeBy, expected: number): Promise<number | 'outdated'> {
    if (expected !== this.#newest()) return 'outdated';
    const table = this.#tableAt(version);
    this.#versioned({ ...by, restored: version }, () => {
      this.#routes = new Map(table.map((route) => [route.id, route]));
    });
    return this.newest();
  }

  async newest(): Promise<number> {
    return this.#newest();
  }

  async versions({ before = Infinity, limit }: { before?: number; limit: number }): Promise<RouteVersion[]> {
    const found = this.#versions.filter(({ number }) => number < before).reverse();
    return found.slice(0, limit).map((version) => viewOf(version));
  }

  async version(number: number) {
    const found = this.#versions.find((version) => version.number === number);
    return found && { version: viewOf(found), changes: structuredClone(inAge([...found.changes.values()])) };
  }

  async tableAt(number: number): Promise<Route[]> {
    return this.#tableAt(number);
  }

  /** Gives a version another number. */
  renumber(from: number, to: number): void {
    for (const version of this.#versions) if (version.number === from) version.number = to;
  }

  #check(id: string, check: RouteCheck | undefined): void {
    const route = this.#routes.get(id);
    if (route) check?.(structuredClone(route));
  }

  #newest(): number {
    return this.#versions.at(-1)?.number ?? 0;
  }

  #tableAt(number: number): Route[] {
    const table = new Map(this.#routes);
    for (const { changes } of this.#versions.filter((version) => version.number > number).reverse()) {
      for (const [id, { before }] of changes) {
        if (before) table.set(id, before);
        else table.delete(id);
      }
    }
    return structuredClone(inAge([...table.values()].map((after) => ({ after }))).map(({ after }) => after));
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

  #create(route: NewRoute, id = this.#newId()): Route {
    const at = new Date(this.#now());
    const made: Route = { ...structuredClone(route), id, createdAt: at, updatedAt: at };
    this.#routes.set(id, made);
    return structuredClone(made);
  }

  #update(id: string, change: Partial<NewRoute>): Route | undefined {
    const route = this.#routes.get(id);
    if (!route) return undefined;
    const clearable = new Set(['regexFilter', 'name']);
    const named = Object.entries(change).filter(
      ([field, value]) => value !== undefined || clearable.has(field),
    );
    const changed = { ...route, ...structuredClone(Object.fromEntries(named)) };
    this.#routes.set(id, { ...changed, updatedAt: new Date(this.#now()) });
    return structuredClone(this.#routes.get(id));
  }

  /** Runs a change and notes what it changed, apart from times. */
  #versioned<T>(by: StoredVersion['by'], work: () => T): T {
    const before = new Map(this.#routes);
    const result = work();
    const changes = new Map<string, RouteChange>();
    for (const id of new Set([...before.keys(), ...this.#routes.keys()])) {
      const [former, now] = [before.get(id), this.#routes.get(id)];
      const isSame = former && now && isDeepStrictEqual({ ...former, updatedAt: now.updatedAt }, now);
      if (isSame) continue;
      changes.set(id, structuredClone({ ...(former && { before: former }), ...(now && { after: now }) }));
    }
    if (changes.size > 0) {
      const number = this.#newest() + 1;
      this.#versions.push({ number, at: new Date(this.#now()), by, changes });
      const kept = this.#versions.findIndex((version) => version.number > number - MAX_VERSIONS);
      this.#versions.splice(0, kept);
    }
    return result;
  }

  /** Oldest first: the map keeps the order of creation. */
  #where(matches: (route: Route) => boolean): Route[] {
    return structuredClone([...this.#routes.values()].filter(matches));
  }
}

function viewOf({ number, at, by, changes }: StoredVersion): RouteVersion {
  const all = [...changes.values()];
  const named = [...changes.keys()].sort().slice(0, 5);
  return structuredClone({
    ...{ number, at, ...by },
    created: all.filter(({ before }) => !before).length,
    changed: all.filter(({ before, after }) => before && after).length,
    deleted: all.filter(({ after }) => !after).length,
    routes: named.map((id) => {
      const { before, after = before } = changes.get(id) ?? {};
      const { name, channelId = '' } = after ?? {};
      return { id, ...(name !== undefined && { name }), channelId };
    }),
  });
}

/** Oldest route first. */
function inAge<Change extends RouteChange>(changes: Change[]): Change[] {
  const timeOf = ({ before, after = before }: Change) => after?.createdAt.getTime() ?? 0;
  return changes.sort((a, b) => timeOf(a) - timeOf(b));
}
