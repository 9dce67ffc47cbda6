import type { Environment } from '../models.ts';

/** What decides which messages a route takes. */
export interface Rule {
  id: string;
  accountId: string;
  environment: Environment;
  channelId: string;
  enabled: boolean;
  regexFilter?: string | undefined;
  config: { when?: unknown };
  /** Its config cannot be read, and so not compared. */
  damage?: string | undefined;
}

/**
 * The route before this one that takes each of its messages, so that this one gets none: an enabled route for the same account,
 * environment and chat, with the same conditions, and the same pattern or none. Pure. Undefined: there is none that is so
 * for certain, or the route is not used anyway.
 * @param inOrder routes in the order in which they are checked
 */
export function coveringRoute<Each extends Rule>(route: Rule, inOrder: readonly Each[]): Each | undefined {
  if (!route.enabled || route.damage !== undefined) return undefined;
  const position = inOrder.findIndex(({ id }) => id === route.id);
  return inOrder.slice(0, Math.max(0, position)).find((each) => {
    const { enabled, damage, regexFilter } = each;
    const isForSame =
      each.accountId === route.accountId &&
      each.environment === route.environment &&
      each.channelId === route.channelId &&
      conditionsOf(each) === conditionsOf(route);
    const takesAll = regexFilter === undefined || regexFilter === route.regexFilter;
    return enabled && damage === undefined && isForSame && takesAll;
  });
}

/** Equal conditions have the same, whatever the order of their fields. */
function conditionsOf({ config: { when } }: Rule): string {
  return JSON.stringify(Object.entries(when ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
}
