import type { Route } from '../../core/models.ts';
import type { RouteChangeBy, RouteHistory } from '../../core/ports/route-history.ts';
import type { RouteChanges, RouteStore } from '../../core/ports/route-store.ts';
import { routesChanged } from './route-history-api.ts';

/** How often a change is made again for a table that changed meanwhile. */
const MAX_ATTEMPTS = 3;

export interface ChangeTableDeps {
  routes: Pick<RouteStore, 'list' | 'write'>;
  routeHistory: Pick<RouteHistory, 'newest'>;
}

/**
 * Makes a change of several routes for the table as it is, and stores it as one version; again when the table changed
 * meanwhile, unless the caller named the version that it has seen.
 * @param plan makes the change; `changes` absent: there is nothing to store. Runs once for each attempt
 * @returns the last plan, and the newest version after it
 * @throws {HttpProblem} 409: the table changed meanwhile; and what `plan` throws
 */
export async function changeTable<Plan extends { changes?: RouteChanges }>(
  { routes, routeHistory }: ChangeTableDeps,
  by: RouteChangeBy,
  expectedVersion: number | undefined,
  plan: (table: Route[]) => Promise<Plan>,
): Promise<Plan & { version: number }> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    // Before the table: a change between the two reads is found when the plan is stored.
    const newest = await routeHistory.newest();
    if (expectedVersion !== undefined && expectedVersion !== newest) break;
    const made = await plan(await routes.list());
    const version = made.changes ? await routes.write(made.changes, by, newest) : newest;
    if (version !== 'outdated') return { ...made, version };
  }
  throw routesChanged();
}
