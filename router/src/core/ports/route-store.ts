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
