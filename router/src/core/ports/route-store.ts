import type { Environment, Route } from '../models.ts';

/** A route as an admin writes it; the store adds id and times. `channelId` is canonical already. */
export type NewRoute = Omit<Route, 'id' | 'createdAt' | 'updatedAt'>;

/**
 * Routes in the database. A change is seen by the next `candidates` call on the node that made it, and on the others within
 * a moment: 5 seconds later at most.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface RouteStore {
  create(route: NewRoute): Promise<Route>;
  get(id: string): Promise<Route | undefined>;
  /** All routes, oldest first; `channelId` narrows to one canonical channel. */
  list(filter?: { channelId?: string; accountId?: string }): Promise<Route[]>;
  /** Replaces the named fields; a field that is present with `undefined` is cleared. Undefined: no such route. */
  update(id: string, change: Partial<NewRoute>): Promise<Route | undefined>;
  delete(id: string): Promise<boolean>;
  /**
   * Enabled or not, the routes that could take a message of this chat: those of any of `channelIds` (the same person's
   * number and LID) and the wildcard, of this account and environment. Cost does not grow with the table (indexed).
   */
  candidates(query: { accountId: string; environment: Environment; channelIds: string[] }): Promise<Route[]>;
}
