import type { Caller } from '../access/caller.ts';
import type { Route } from '../models.ts';

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
