import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Route } from '../../core/models.ts';
import type { RouteChange } from '../../core/ports/route-history.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { wireConfigOf } from '../../infra/agents/route-config.ts';
import { maskedConfig } from '../../infra/agents/route-secrets.ts';

const fieldChangeView = z
  .object({
    field: z.string().describe('Path of the field, such as `config.adk.appName`.'),
    before: z.unknown().optional().describe('Absent: the route had no such field.'),
    after: z.unknown().optional().describe('Absent: the route has no such field any more.'),
  })
  .meta({ id: 'FieldChange' });

/** What happened to one route, as responses show it. */
export const routeChangeView = z
  .object({
    change: z.enum(['created', 'changed', 'deleted']),
    routeId: z.string().optional().describe('Absent in a plan: a route that gets its id when it is created.'),
    name: z.string().optional(),
    accountId: z.string(),
    channelId: z.string(),
    fields: z
      .array(fieldChangeView)
      .describe('Fields that changed, secrets masked: a changed secret is `***` before and after.'),
  })
  .meta({ id: 'RouteChange' });

export type RouteChangeView = z.output<typeof routeChangeView>;

type ChangedRoute = Omit<Route, 'id' | 'createdAt' | 'updatedAt'> & { id?: string };

/**
 * What changed between two states of a route, secrets masked.
 * @param change at least one of both
 * @returns undefined: nothing but times changed
 */
export function routeChangeOf(
  kinds: readonly AgentKind[],
  { before, after }: { before?: ChangedRoute; after?: ChangedRoute },
): RouteChangeView | undefined {
  const route = after ?? before;
  if (!route) return undefined;
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const [shownOld, shownNow] = [fieldsOf(masked(kinds, before)), fieldsOf(masked(kinds, after))];
  const fields = [...new Set([...old.keys(), ...now.keys()])]
    .filter((field) => !isDeepStrictEqual(old.get(field), now.get(field)))
    .map((field) => ({
      field,
      ...(old.has(field) && { before: shownOld.get(field) }),
      ...(now.has(field) && { after: shownNow.get(field) }),
    }));
  if (before && after && fields.length === 0) return undefined;
  const change = before ? (after ? 'changed' : 'deleted') : 'created';
  const { id, name, accountId, channelId } = route;
  return {
    change,
    ...(id !== undefined && { routeId: id }),
    ...(name !== undefined && { name }),
    accountId,
    channelId,
    fields,
  };
}

/** What changed between two tables, route by route: of those of `before` in their order, then those that are new. */
export function tableChanges(before: readonly Route[], after: readonly Route[]): RouteChange[] {
  const afterById = new Map(after.map((route) => [route.id, route]));
  const beforeIds = new Set(before.map(({ id }) => id));
  return [
    ...before.map((route) => {
      const now = afterById.get(route.id);
      return { before: route, ...(now && { after: now }) };
    }),
    ...after.filter(({ id }) => !beforeIds.has(id)).map((route) => ({ after: route })),
  ];
}

/** A route whose config is as the API writes it. */
type Shown = Omit<ChangedRoute, 'config'> & { config: Record<string, unknown> };

function masked(kinds: readonly AgentKind[], route: ChangedRoute | undefined): Shown | undefined {
  return route && { ...route, config: maskedConfig(kinds, route.config) };
}

/** Every value of a route by its path; lists are values. */
function fieldsOf(route: ChangedRoute | Shown | undefined): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  if (!route) return fields;
  const { accountId, channelId, environment, name, enabled, priority, regexFilter, agentEndpoint } = route;
  const config = isWire(route) ? route.config : wireConfigOf(route.config);
  const common = { accountId, channelId, environment, name, enabled, priority, regexFilter };
  collect({ ...common, agentEndpoint: agentEndpoint || undefined, config }, '', fields);
  return fields;
}

function isWire(route: ChangedRoute | Shown): route is Shown {
  return !('agent' in route.config);
}

function collect(value: unknown, path: string, fields: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (value !== undefined) fields.set(path, value);
    return;
  }
  const entries = Object.entries(value);
  // An empty object is a value: `{}` and an absent field differ.
  if (entries.length === 0 && path !== '' && path !== 'config') fields.set(path, {});
  for (const [key, child] of entries) collect(child, path === '' ? key : `${path}.${key}`, fields);
}
