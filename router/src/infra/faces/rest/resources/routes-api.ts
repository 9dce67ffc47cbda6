import { z } from 'zod';
import type { Config } from '../../../../config/config.ts';
import { canonicalChannelId } from '../../../../core/chat-id.ts';
import type { Route, RouteConfig } from '../../../../core/models.ts';
import type { AccountControl } from '../../../../core/ports/account-control.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { NewRoute, RouteStore } from '../../../../core/ports/route-store.ts';
import { abiConfigProblems } from '../../../agents/abi/codec/abi-rules.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { accountIdField, changedResponse, channelIdField, dataResponse, listResponse } from '../fields.ts';
import { HttpProblem, problemSchema } from '../problem.ts';
import type { ResponseDoc } from '../response.ts';
import { invalid, validate } from '../validate.ts';
import { refuseUnknownAccount } from './accounts-api.ts';
import {
  newRouteOf,
  patchedConfig,
  routeBody,
  routePatch,
  routeReplacement,
  routeView,
} from './route-schemas.ts';
import { mergePatch, unmasked, viewOf } from './route-view.ts';

export interface RoutesApiDeps {
  routes: RouteStore;
  accounts: AccountControl;
  config: Pick<Config, 'accountId'>;
  log: Logger;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const notFound: ResponseDoc = { description: 'No such route.', schema: problemSchema };
const ambiguous: ResponseDoc = {
  description: 'Several routes have this channelId; `details` names their ids.',
  schema: problemSchema,
};

const listQuery = z.strictObject({
  channelId: channelIdField.optional(),
  accountId: accountIdField.optional(),
});

/** The route table: `/api/routes`. `{id}` is a route's id or a channelId that exactly one route has. */
export function routesApi(deps: RoutesApiDeps): Endpoint[] {
  const { routes, accounts, config, log } = deps;
  const common = { tag: 'Routes' as const };
  const changed = {
    200: { description: 'The route as it is now.', schema: changedResponse(routeView) },
    404: notFound,
    409: ambiguous,
  };

  return [
    endpoint({
      ...common,
      method: 'post',
      path: '/api/routes',
      operationId: 'createRoute',
      summary: 'Add a route',
      body: routeBody,
      responses: {
        201: { description: 'The route, which takes the next message.', schema: changedResponse(routeView) },
      },
      handle: async ({ body }) => {
        const route = newRouteOf(body, config.accountId);
        refuseUnknownAccount(accounts, route.accountId, config.accountId);
        await refuseUnusable(route.config);
        const created = await routes.create({ ...route, config: unmasked(route.config, undefined) });
        log.info({ routeId: created.id }, 'route created');
        return {
          status: 201,
          headers: { location: `/api/routes/${created.id}` },
          json: { success: true, message: 'Route created.', data: viewOf(created) },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes',
      operationId: 'listRoutes',
      summary: 'List routes, oldest first',
      query: listQuery,
      responses: { 200: { description: 'The routes.', schema: listResponse(routeView) } },
      handle: async ({ query }) => {
        const data = (await routes.list(query)).map(viewOf);
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/{id}',
      operationId: 'getRoute',
      summary: 'Show a route',
      responses: {
        200: { description: 'The route.', schema: dataResponse(routeView) },
        404: notFound,
        409: ambiguous,
      },
      handle: async ({ params }) => {
        const route = await findRoute(routes, params.id);
        return { status: 200, json: { success: true, data: viewOf(route) } };
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      path: '/api/routes/{id}',
      operationId: 'replaceRoute',
      summary: 'Replace a route',
      body: routeReplacement,
      responses: changed,
      handle: async ({ params, body }) => {
        const before = await findRoute(routes, params.id);
        const whole = { ...body, channelId: body.channelId ?? before.channelId };
        return change(before, newRouteOf(whole, before.accountId));
      },
    }),
    endpoint({
      ...common,
      method: 'patch',
      path: '/api/routes/{id}',
      operationId: 'updateRoute',
      summary: 'Change fields of a route',
      body: routePatch,
      responses: changed,
      handle: async ({ params, body }) => {
        const before = await findRoute(routes, params.id);
        const { config: configPatch, regexFilter, name, ...fields } = body;
        const changes: Partial<NewRoute> = Object.fromEntries(
          Object.entries(fields).filter(([, value]) => value !== undefined),
        );
        // Present with undefined clears a field in the store; absent leaves it.
        if (regexFilter !== undefined) changes.regexFilter = regexFilter ?? undefined;
        if (name !== undefined) changes.name = name ?? undefined;
        if (configPatch !== undefined) {
          const merged = { config: mergePatch(before.config, configPatch) };
          changes.config = validate(patchedConfig, merged, 'body').config;
        }
        return change(before, changes);
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/routes/{id}',
      operationId: 'deleteRoute',
      summary: 'Delete a route',
      responses: {
        200: {
          description: 'The route that is gone.',
          schema: changedResponse(routeView),
        },
        404: notFound,
        409: ambiguous,
      },
      handle: async ({ params }) => {
        const route = await findRoute(routes, params.id);
        if (!(await routes.delete(route.id))) throw noSuchRoute();
        log.info({ routeId: route.id }, 'route deleted');
        return { status: 200, json: { success: true, message: 'Route deleted.', data: viewOf(route) } };
      },
    }),
  ];

  async function change(before: Route, changes: Partial<NewRoute>) {
    if (changes.accountId !== undefined) refuseUnknownAccount(accounts, changes.accountId, before.accountId);
    const config: RouteConfig | undefined = changes.config && unmasked(changes.config, before.config);
    if (config) await refuseUnusable(config);
    const updated = await routes.update(before.id, { ...changes, ...(config && { config }) });
    if (!updated) throw noSuchRoute();
    log.info({ routeId: updated.id, fields: Object.keys(changes) }, 'route changed');
    return { status: 200, json: { success: true, message: 'Route updated.', data: viewOf(updated) } };
  }
}

/** @throws {HttpProblem} 400: what an agent kind's settings say cannot be used, one sentence a mistake */
async function refuseUnusable({ abi }: RouteConfig): Promise<void> {
  if (!abi) return;
  const problems = await abiConfigProblems(abi);
  if (problems.length === 0) return;
  throw invalid(
    'body',
    problems.map(({ field, message }) => ({ field: `config.abi.${field}`, message })),
  );
}

/**
 * The route with this id, or the only one with this channelId in any of its spellings.
 * @throws {HttpProblem} 404 none, 409 several
 */
async function findRoute(routes: RouteStore, id = ''): Promise<Route> {
  if (UUID.test(id)) {
    const route = await routes.get(id.toLowerCase());
    if (route) return route;
    throw noSuchRoute();
  }
  const channelId = canonicalChannelId(id);
  const found = channelId === undefined ? [] : await routes.list({ channelId });
  const [route, ...others] = found;
  if (!route) throw noSuchRoute();
  if (others.length === 0) return route;
  throw new HttpProblem(
    409,
    'SEVERAL_ROUTES',
    `${found.length} routes have the channelId ${channelId}; use the id of one.`,
    found.slice(0, 20).map(({ id, name }) => ({ field: 'id', message: name ? `${id} (${name})` : id })),
  );
}

function noSuchRoute(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', 'There is no route with this id or channelId.');
}
