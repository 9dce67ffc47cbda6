import sql from 'sql-template-tag';
import type { Route } from '../../../core/models.ts';
import type { AgentKind } from '../../agents/agent-kind.ts';
import { routeConfigOf, storedConfigCheck, type WireConfig } from '../../agents/route-config.ts';
import { type Columns, withoutNulls } from './rows.ts';

/** Everything of a route but its config, which may be long and damaged. */
export const ROUTE_COLUMNS = sql`
  id::text, account_id AS "accountId", channel_id AS "channelId", agent_endpoint AS "agentEndpoint", environment,
  regex_filter AS "regexFilter", priority, enabled, name, created_at AS "createdAt", updated_at AS "updatedAt"`;

/** A row of `route`, with its config decrypted. */
export type RouteRow = Columns<Omit<Route, 'config' | 'damage'>> & { config: unknown };

/** Makes the function that reads a stored route; `damage` says why its config cannot be used. */
export function routeReader(kinds: readonly AgentKind[]): (row: RouteRow) => Route {
  const problemOf = storedConfigCheck(kinds);
  return ({ config, ...columns }) => {
    const damage = problemOf(config);
    if (damage !== undefined) return { ...withoutNulls(columns), config: {}, damage };
    return { ...withoutNulls(columns), config: routeConfigOf(kinds, config as WireConfig) };
  };
}

/** A route whose config the database cannot read. */
export function unreadableRoute(columns: Omit<RouteRow, 'config'>): Route {
  return { ...withoutNulls(columns), config: {}, damage: 'the database cannot read its config' };
}
