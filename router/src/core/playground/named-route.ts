import type { Route } from '../models.ts';
import type { Playground } from '../ports/playground.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { PLAYGROUND } from './playground-account.ts';

/** The route that a chat names; `route` is absent when it was deleted. */
export interface NamedRoute {
  routeId: string;
  route?: Route;
}

/**
 * The route that a chat of the playground names instead of the route table: of any account, also when it is disabled or
 * belongs to the other environment, so that an operator can try a route before people reach it.
 * @returns undefined: the table decides
 * @throws {StorageUnavailableError}
 */
export async function namedRoute(
  { playground, routes }: { playground: Pick<Playground, 'chatAt'>; routes: Pick<RouteStore, 'get'> },
  { accountId, channelIds }: { accountId: string; channelIds: readonly string[] },
): Promise<NamedRoute | undefined> {
  const [channelId] = channelIds;
  if (accountId !== PLAYGROUND || channelId === undefined) return undefined;
  const routeId = (await playground.chatAt(channelId))?.routeId;
  if (routeId === undefined) return undefined;
  const route = await routes.get(routeId);
  return { routeId, ...(route && { route }) };
}
