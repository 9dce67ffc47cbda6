import { z } from 'zod';
import { ANY_CHANNEL } from '../../core/chat-id.ts';
import type { Route } from '../../core/models.ts';
import { PHRASES } from '../../core/phrases.ts';
import type { RouteChanges } from '../../core/ports/route-store.ts';
import { inRouteOrder } from '../../core/routing/route-message.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { changedResponse } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { changeBy, changeTable, expectedVersionField, routesChangedResponse } from './route-history-api.ts';

/** Distance between the priorities of neighbours, so that one route can be put between them. */
const STEP = 10;

/** Routes in the order in which they are checked. */
export const orderField = z
  .array(z.uuid().transform((id) => id.toLowerCase()))
  .min(1)
  .max(5_000)
  .describe('Ids of routes, the first one is checked first.');

const orderBody = z
  .strictObject({
    ids: orderField,
    expectedVersion: expectedVersionField,
  })
  .meta({ id: 'RouteOrder', examples: [{ ids: ['01900000-0000-7000-8000-000000000001'] }] });

/** The order in which routes are checked: `PUT /api/routes/order`. */
export function routeOrderApi(app: App): Endpoint[] {
  return [
    endpoint({
      tag: 'Routes',
      method: 'put',
      path: '/api/routes/order',
      operationId: 'orderRoutes',
      scopes: ['routes:write'],
      honours: [],
      summary: 'Set the order of routes',
      description:
        'Gives the routes priorities in steps of 10, so that they are checked in this order, in one transaction. Nothing changes if they are in this order already. Routes that are not named keep their priorities. A route for `*` is always checked after those of the chat.',
      body: orderBody,
      responses: {
        200: {
          description: 'The priorities.',
          schema: changedResponse(
            z.object({
              version: z.int().describe('The newest version of the route table.'),
              priorities: z.array(z.object({ id: z.string(), priority: z.int() })),
            }),
          ),
        },
        409: routesChangedResponse,
      },
      handle: async ({ body: { ids, expectedVersion }, caller }) => {
        const by = changeBy(caller, 'order');
        const { version, changes, priorities } = await changeTable(
          app,
          by,
          expectedVersion,
          async (table) => {
            const { priorities, update } = orderedRoutes(table, ids);
            return { priorities, ...(update.length > 0 && { changes: { create: [], update, delete: [] } }) };
          },
        );
        if (changes) app.log.info({ version, routes: ids.length }, 'routes ordered');
        const message = changes ? 'Order of the routes stored.' : 'The routes are in this order already.';
        return {
          status: 200,
          object: String(version),
          json: { success: true, message, data: { version, priorities } },
        };
      },
    }),
  ];
}

/**
 * The priorities that make routes be checked in this order, and what changes for that.
 * @throws {HttpProblem} 400: an order that priorities cannot make
 */
export function orderedRoutes(
  table: readonly Route[],
  ids: readonly string[],
): { priorities: Array<Pick<Route, 'id' | 'priority'>>; update: RouteChanges['update'] } {
  const routes = routesOf(table, ids);
  const isOrdered = inRouteOrder(routes).every(({ id }, index) => id === ids[index]);
  if (isOrdered) return { priorities: routes.map(({ id, priority }) => ({ id, priority })), update: [] };
  const priorities = ids.map((id, index) => ({ id, priority: (ids.length - index) * STEP }));
  const update = priorities
    .filter(({ priority }, index) => routes[index]?.priority !== priority)
    .map(({ id, priority }) => ({ id, change: { priority } }));
  return { priorities, update };
}

/** The routes with these ids, in this order. @throws {HttpProblem} 400: an order that priorities cannot make */
function routesOf(table: readonly Route[], ids: readonly string[]): Route[] {
  const byId = new Map(table.map((route) => [route.id, route]));
  const mistake = (index: number, message: string) => invalid('body', [{ field: `ids.${index}`, message }]);
  let isAfterWildcard = false;
  return ids.map((id, index) => {
    const route = byId.get(id);
    if (!route) throw mistake(index, PHRASES['field.no-route']);
    if (ids.indexOf(id) !== index) throw mistake(index, PHRASES['field.twice']);
    const isWildcard = route.channelId === ANY_CHANNEL;
    if (isAfterWildcard && !isWildcard) {
      throw mistake(index, PHRASES['field.route-of-one-chat']);
    }
    isAfterWildcard ||= isWildcard;
    return route;
  });
}
