import type { Environment, Route } from '../../../core/models.ts';
import type { AgentKind } from '../../agents/agent-kind.ts';
import { routeConfigOf, storedConfigCheck, type WireConfig } from '../../agents/route-config.ts';
import type { Route as RouteRow } from '../generated/client.ts';

/** Makes the function that reads a stored route; `damage` says why its config cannot be used. */
export function routeReader(kinds: readonly AgentKind[]): (row: RouteRow) => Route {
  const problemOf = storedConfigCheck(kinds);
  return (row) => {
    const damage = problemOf(row.config);
    if (damage !== undefined) return { ...columnsOf(row), config: {}, damage };
    return { ...columnsOf(row), config: routeConfigOf(kinds, row.config as WireConfig) };
  };
}

/** A route whose config the database cannot read. */
export function unreadableRoute(row: Omit<RouteRow, 'config'>): Route {
  return { ...columnsOf(row), config: {}, damage: 'the database cannot read its config' };
}

function columnsOf(row: Omit<RouteRow, 'config'>): Omit<Route, 'config'> {
  return {
    id: row.id,
    accountId: row.accountId,
    channelId: row.channelId,
    agentEndpoint: row.agentEndpoint,
    environment: row.environment as Environment,
    regexFilter: row.regexFilter ?? undefined,
    priority: row.priority,
    enabled: row.enabled,
    name: row.name ?? undefined,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
