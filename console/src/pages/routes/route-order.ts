/** A route as far as its place depends on it. */
interface Placed {
  id: string;
  channelId: string;
  priority: number;
  createdAt: string;
}

/** Routes in the order in which they are checked: those of a chat before `*`, then higher priority, then the older one. */
export function inRouteOrder<Route extends Placed>(routes: readonly Route[]): Route[] {
  return [...routes].sort(
    (a, b) =>
      Number(isForAll(a)) - Number(isForAll(b)) ||
      b.priority - a.priority ||
      a.createdAt.localeCompare(b.createdAt) ||
      a.id.localeCompare(b.id),
  );
}

/**
 * The ids of the routes that can change places with this one, in their new order.
 * @param to the route whose place it takes
 * @returns undefined: nothing changes, or one is for `*` and the other for a chat
 */
export function orderAfterMove(routes: readonly Placed[], id: string, to: string): string[] | undefined {
  const moved = routes.find((each) => each.id === id);
  const peers = moved ? routes.filter((each) => isForAll(each) === isForAll(moved)) : [];
  const ids = peers.map((each) => each.id);
  const [from, place] = [ids.indexOf(id), ids.indexOf(to)];
  if (from < 0 || place < 0 || from === place) return undefined;
  ids.splice(from, 1);
  ids.splice(place, 0, id);
  return ids;
}

/** The route before (-1) or after (1) this one with which it can change places. */
export function neighbourOf(routes: readonly Placed[], id: string, step: -1 | 1): string | undefined {
  const index = routes.findIndex((each) => each.id === id);
  const [route, next] = [routes[index], routes[index + step]];
  return route && next && isForAll(route) === isForAll(next) ? next.id : undefined;
}

function isForAll({ channelId }: Pick<Placed, 'channelId'>): boolean {
  return channelId === '*';
}
