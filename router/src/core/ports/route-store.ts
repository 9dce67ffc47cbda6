import type { Caller } from '../access/caller.ts';
import type { Environment, Route } from '../models.ts';

/** What made a version of the route table. */
export type RouteAction = 'create' | 'change' | 'delete' | 'apply' | 'order' | 'rollback';

/** Who changes the route table, and how; stored with the version that the change makes. */
export interface RouteChangeBy {
  action: RouteAction;
  caller: Caller['kind'];
  /** Of a key of the API. */
  keyId?: string;
}

/** A route as an admin writes it; the store adds id and times. `channelId` is canonical already. */
export type NewRoute = Omit<Route, 'id' | 'createdAt' | 'updatedAt'>;

/** Called with a route as it is, in the transaction of its change; the Wa2aiError that it throws prevents the change. */
export type RouteCheck = (current: Route) => void;

/** Changes of several routes. */
export interface RouteChanges {
  /** In the order in which routes of equal priority are evaluated. With an id: that one, which no route has. */
  create: Array<NewRoute & { id?: string }>;
  /** As in `update`. */
  update: Array<{ id: string; change: Partial<NewRoute> }>;
  delete: string[];
}

/**
 * Routes in the database. A change is seen by the next `candidates` call on the node that made it, and on the others within
 * a moment: 5 seconds later at most. Every change makes a version (route-store.ts) with `by`.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface RouteStore {
  /** @param id a UUID that no route has; default: a new one */
  create(route: NewRoute, by?: RouteChangeBy, id?: string): Promise<Route>;
  get(id: string): Promise<Route | undefined>;
  /** All routes, oldest first; `channelId` narrows to one canonical channel. */
  list(filter?: { channelId?: string; accountId?: string }): Promise<Route[]>;
  /** Replaces the named fields; a field that is present with `undefined` is cleared. Undefined: no such route. */
  update(
    id: string,
    change: Partial<NewRoute>,
    by?: RouteChangeBy,
    check?: RouteCheck,
  ): Promise<Route | undefined>;
  delete(id: string, by?: RouteChangeBy, check?: RouteCheck): Promise<boolean>;
  /**
   * Stores all changes in one transaction, as one version.
   * @param expected the newest version that the changes were made for
   * @returns the new version; `outdated`: there is a newer version than `expected`, and nothing was changed
   */
  write(changes: RouteChanges, by: RouteChangeBy, expected: number): Promise<number | 'outdated'>;
  /**
   * Restores the table of a version, with its secrets, as a new version; otherwise as `write`. A table that is the same
   * already makes no version: `expected` is returned.
   */
  restore(version: number, by: RouteChangeBy, expected: number): Promise<number | 'outdated'>;
  /**
   * Enabled or not, the routes that could take a message of this chat: those of any of `channelIds` (the same person's
   * number and LID) and the wildcard, of this account and environment. Cost does not grow with the table (indexed).
   */
  candidates(query: { accountId: string; environment: Environment; channelIds: string[] }): Promise<Route[]>;
}
