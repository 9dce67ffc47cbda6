import { z } from 'zod';
import { allowedRoutes, type Caller, mayUseChat, RESTRICTIONS } from '../../core/access/caller.ts';
import { canonicalRouteChannelId, jidHash, jidOfChannelId, writtenForms } from '../../core/chat-id.ts';
import type { Route } from '../../core/models.ts';
import { say } from '../../core/phrases.ts';
import { PLAYGROUND } from '../../core/playground/playground-account.ts';
import type { NewRoute, RouteCheck } from '../../core/ports/route-store.ts';
import { coveringRoute } from '../../core/routing/covering-route.ts';
import { inRouteOrder } from '../../core/routing/route-message.ts';
import type { App } from '../../feature.ts';
import type { AgentOfRoute } from '../../infra/agents/route-secrets.ts';
import {
  type Endpoint,
  endpoint,
  refuseOtherChat,
  refuseOtherRoute,
} from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  changedResponse,
  channelIdField,
  dataResponse,
  optionalPageQuery,
  pageOfAll,
  pageResponse,
  warningView,
} from '../../infra/operations/fields.ts';
import { HttpProblem, phraseField, problemSchema } from '../../infra/operations/problem.ts';
import type { ApiResponse, IfMatch, ResponseDoc } from '../../infra/operations/response.ts';
import { refuseUnknownAccount } from '../accounts/account-view.ts';
import { AgentHealth } from './agent-health.ts';
import { changeBy, RouteChecks } from './route-history-api.ts';
import { routePreview } from './route-preview.ts';
import {
  changesOf,
  newRouteOf,
  type RouteSchemas,
  routeView,
  storedRouteResponse,
  viewOf,
  type Warning,
  withNewRouteNames,
} from './route-schemas.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const notFound: ResponseDoc = { description: 'No such route.', schema: problemSchema };
const ambiguous: ResponseDoc = {
  description: 'Several routes have this channelId; `details` names their ids.',
  schema: problemSchema,
};

const probeView = z
  .object({
    kind: z.string().optional().describe('The agent kind. Absent: the stored config cannot be used.'),
    isProbed: z
      .boolean()
      .describe('`false`: agents of this kind cannot be probed, so that nothing was found.'),
    findings: z.array(warningView).describe('Likely problems of calling the agent. None: it answered.'),
    about: z
      .object({
        version: z.string().optional(),
        capabilities: z.array(z.string()).describe('What it can do: agents, models, skills. At most 100.'),
      })
      .optional()
      .describe('What the agent says about itself. Absent: nothing.'),
    milliseconds: z.int().describe('How long the probe took.'),
  })
  .meta({ id: 'RouteProbe' });

const cardView = z
  .object({
    kind: z.string().optional().describe('The agent kind. Absent: the stored config cannot be used.'),
    card: z
      .object({
        url: z.string().describe('Where the card came from.'),
        name: z.string().optional(),
        description: z.string().optional(),
        version: z.string().optional(),
        provider: z.string().optional().describe('Who runs it.'),
        interfaces: z.array(z.string()).describe('Protocols and bindings that it speaks.'),
        capabilities: z.array(z.string()),
        skills: z.array(z.object({ name: z.string(), description: z.string().optional() })),
        authentication: z.array(z.string()).describe('What it wants as a proof. Empty: it names none.'),
      })
      .optional()
      .describe('As the agent writes it.'),
    problem: z.string().optional().describe('Why there is no card.'),
    phrase: phraseField,
  })
  .meta({ id: 'RouteCard' });

const activityView = z
  .object({
    routeId: z.uuid(),
    messages: z.int().min(0).describe('Messages that the route took in this hour and the 23 hours before.'),
    failures: z.int().min(0).describe('Those of them that ended as dead letters.'),
    agent: z
      .enum(['answers', 'problem', 'unknown'])
      .describe(
        'What the last probe of the agent found, at most a minute ago. `unknown`: the route is switched off, or agents of this kind cannot be probed.',
      ),
    problem: warningView.optional(),
  })
  .meta({ id: 'RouteActivity' });

const HOUR_MS = 3_600_000;

const COVERED =
  'The header `X-Wa2ai-Covered-By` is the id of the route that is checked before it and takes each of its messages, so that it gets none.';

const listQuery = z.strictObject({
  channelId: channelIdField.optional().describe('Only routes of this chat, or `*`.'),
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  order: z
    .enum(['created', 'checked'])
    .default('created')
    .describe('The oldest first, or in the order in which routes are checked.'),
  ...optionalPageQuery,
});

/** The route table: `/api/routes`. `{id}` is a route's id or a channelId that exactly one route has. */
export function routesApi(app: App, schemas: RouteSchemas): Endpoint[] {
  const { routes, accounts, config, agentKinds, routeProbe, aliasesOf, log, stats, clock } = app;
  const health = new AgentHealth(routeProbe, agentKinds, clock);
  const checks = new RouteChecks(app, schemas);
  const common = { tag: 'Routes' };
  const changed = {
    200: { description: `The route as it is now. ${COVERED}`, schema: storedRouteResponse },
    404: notFound,
    409: ambiguous,
  };

  return [
    routePreview(app, schemas),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/routes',
      operationId: 'createRoute',
      scopes: ['routes:write'],
      honours: ['chats', 'accounts'],
      summary: 'Add a route',
      body: schemas.body,
      oldNames: withNewRouteNames,
      creates: {
        known: async (repeatId) => {
          const route = await routes.get(repeatId);
          return route && createdResponse(route, []);
        },
      },
      responses: {
        201: {
          description: `The route; it takes the next message. ${COVERED}`,
          schema: storedRouteResponse,
        },
      },
      handle: async ({ body, caller, repeatId }) => {
        const route = newRouteOf(agentKinds, body, config);
        refuseUnknownAccount(accounts, route.accountId, config.accountId, PLAYGROUND);
        await refuseOtherChat(caller, route, aliasesOf);
        await checks.refuseOtherFallback(caller, route.config);
        checks.refuseOtherPrograms(caller, route.config);
        checks.refuseEverybody(route);
        const usable = await checks.usableConfig(route, undefined);
        const toStore = { ...route, ...usable.stored };
        const created = await routes.create(toStore, changeBy(caller, 'create'), repeatId);
        log.info(fieldsOf(created), 'route created');
        return createdResponse(created, usable.warnings, await coveredHeader(caller, created));
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes',
      operationId: 'listRoutes',
      scopes: ['routes:read'],
      honours: RESTRICTIONS,
      summary: 'List routes',
      query: listQuery,
      responses: { 200: { description: 'The routes.', schema: pageResponse(routeView) } },
      handle: async ({ query: { cursor, limit, order, ...filter }, caller }) => {
        const found = await allowed(caller, await routes.list(filter));
        const data = (order === 'checked' ? inRouteOrder(found) : found).map((route) =>
          viewOf(agentKinds, route),
        );
        return { status: 200, json: pageOfAll(data, { cursor, limit }, ({ id }) => id) };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/activity',
      operationId: 'listRouteActivity',
      scopes: ['routes:read'],
      honours: RESTRICTIONS,
      isPolled: true,
      summary: 'Say for all routes whether their agents answer, and count messages and failures of 24 hours',
      description:
        'Asks agents that were not asked for a minute, without running them; takes at most two seconds. Each node adds its counts once a minute.',
      responses: {
        200: { description: 'One entry for each route.', schema: dataResponse(z.array(activityView)) },
      },
      handle: async ({ caller }) => {
        const found = await allowed(caller, await routes.list());
        const [states, counted] = await Promise.all([
          health.of(found),
          stats.ofRoutes(clock.now() - 23 * HOUR_MS),
        ]);
        const counts = new Map(counted.map((each) => [each.routeId, each]));
        const data = found.map(({ id: routeId }) => {
          const { messages = 0, failures = 0 } = counts.get(routeId) ?? {};
          const agent = states.get(routeId) ?? { state: 'unknown' };
          return {
            ...{ routeId, messages, failures, agent: agent.state },
            ...(agent.state === 'problem' && { problem: agent.finding }),
          };
        });
        return { status: 200, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/routes/test',
      operationId: 'testNewRoute',
      scopes: ['routes:write'],
      honours: ['chats', 'accounts'],
      summary: 'Probe the agent of a route that is not stored',
      body: schemas.body,
      oldNames: withNewRouteNames,
      responses: { 200: { description: 'What the probe found.', schema: dataResponse(probeView) } },
      handle: async ({ body, caller }) => {
        const route = newRouteOf(agentKinds, body, config);
        await refuseOtherChat(caller, route, aliasesOf);
        checks.refuseOtherPrograms(caller, route.config);
        const usable = await checks.usableConfig(route, undefined);
        return { status: 200, json: { success: true, data: await tested(usable.stored) } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/routes/{id}/test',
      operationId: 'testRoute',
      scopes: ['routes:write'],
      honours: RESTRICTIONS,
      summary: 'Probe the agent of a route',
      description:
        'Does not run the agent. Takes at most two seconds. A body is a change as in `PATCH`: the changed route is probed, and nothing is stored.',
      body: schemas.patch,
      oldNames: withNewRouteNames,
      isBodyOptional: true,
      responses: {
        200: { description: 'What the probe found.', schema: dataResponse(probeView) },
        404: notFound,
        409: ambiguous,
      },
      handle: async ({ params, body, caller }) => {
        const route = await findRoute(caller, params.id);
        const changed = await changedAgent(caller, route, changesOf(agentKinds, route, body));
        return { status: 200, object: route.id, json: { success: true, data: await tested(changed) } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/{id}/card',
      operationId: 'getRouteCard',
      scopes: ['routes:read'],
      honours: RESTRICTIONS,
      summary: 'Read the card of the agent of a route',
      description:
        'Agents of the NPC Engine and of A2A have one. Asks the agent, without running it; takes at most two seconds.',
      responses: {
        200: { description: 'The card, or why there is none.', schema: dataResponse(cardView) },
        404: notFound,
        409: ambiguous,
      },
      handle: async ({ params, caller }) => {
        const route = await findRoute(caller, params.id);
        const data = await routeProbe.card(route);
        return { status: 200, object: route.id, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/{id}',
      operationId: 'getRoute',
      scopes: ['routes:read'],
      honours: RESTRICTIONS,
      etag: true,
      summary: 'Show a route',
      responses: {
        200: { description: 'The route.', schema: dataResponse(routeView) },
        404: notFound,
        409: ambiguous,
      },
      handle: async ({ params, caller }) => {
        const route = await findRoute(caller, params.id);
        return { status: 200, object: route.id, json: { success: true, data: viewOf(agentKinds, route) } };
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      path: '/api/routes/{id}',
      operationId: 'replaceRoute',
      scopes: ['routes:write'],
      honours: RESTRICTIONS,
      etag: true,
      summary: 'Replace a route',
      body: schemas.replacement,
      oldNames: withNewRouteNames,
      responses: changed,
      handle: async ({ params, body, caller, ifMatch }) => {
        const before = await findRoute(caller, params.id);
        const whole = { ...body, channelId: body.channelId ?? before.channelId };
        return change(caller, before, newRouteOf(agentKinds, whole, before), ifMatch);
      },
    }),
    endpoint({
      ...common,
      method: 'patch',
      path: '/api/routes/{id}',
      operationId: 'updateRoute',
      scopes: ['routes:write'],
      honours: RESTRICTIONS,
      etag: true,
      summary: 'Change fields of a route',
      body: schemas.patch,
      oldNames: withNewRouteNames,
      responses: changed,
      handle: async ({ params, body, caller, ifMatch }) => {
        const before = await findRoute(caller, params.id);
        return change(caller, before, changesOf(agentKinds, before, body), ifMatch);
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/routes/{id}',
      operationId: 'deleteRoute',
      scopes: ['routes:write'],
      honours: RESTRICTIONS,
      etag: true,
      summary: 'Delete a route',
      responses: {
        200: {
          description: 'The route that is gone.',
          schema: changedResponse(routeView),
        },
        404: notFound,
        409: ambiguous,
      },
      handle: async ({ params, caller, ifMatch }) => {
        const route = await findRoute(caller, params.id);
        const isDeleted = await routes.delete(route.id, changeBy(caller, 'delete'), seenBy(ifMatch));
        if (!isDeleted) throw noSuchRoute();
        log.info(fieldsOf(route), 'route deleted');
        return {
          status: 200,
          object: route.id,
          json: { success: true, message: 'Route deleted.', data: viewOf(agentKinds, route) },
        };
      },
    }),
  ];

  /** What the probe of a route's agent finds. */
  function tested({ agentEndpoint, config }: AgentOfRoute) {
    return routeProbe.test({ agentEndpoint, config });
  }

  /** The agent of a route after these changes, checked as for a route that is to be stored. */
  async function changedAgent(
    caller: Caller,
    before: Route,
    { agentEndpoint = before.agentEndpoint, config }: Partial<NewRoute>,
  ): Promise<AgentOfRoute> {
    if (!config) return { agentEndpoint, config: before.config };
    checks.refuseOtherPrograms(caller, config);
    return (await checks.usableConfig({ agentEndpoint, config }, before)).stored;
  }

  /** The check of a change: the caller has seen the route as it is. */
  function seenBy(ifMatch: IfMatch | undefined): RouteCheck | undefined {
    return ifMatch && ((route) => ifMatch(viewOf(agentKinds, route)));
  }

  async function change(
    caller: Caller,
    before: Route,
    changes: Partial<NewRoute>,
    ifMatch: IfMatch | undefined,
  ) {
    // Before the checks below, which may refuse the change for what somebody else changed.
    seenBy(ifMatch)?.(before);
    const { channelId = before.channelId, accountId = before.accountId } = changes;
    if (channelId !== before.channelId || accountId !== before.accountId) {
      // A key for this route must not take messages of other chats with it.
      refuseOtherRoute(caller, undefined);
      await refuseOtherChat(caller, { accountId, channelId }, aliasesOf);
    }
    if (changes.accountId !== undefined) {
      refuseUnknownAccount(accounts, changes.accountId, before.accountId, PLAYGROUND);
    }
    const { agentEndpoint = before.agentEndpoint, config: written } = changes;
    await checks.refuseOtherFallback(caller, written, before.config);
    checks.refuseOtherPrograms(caller, before.config);
    if (written) checks.refuseOtherPrograms(caller, written);
    checks.refuseEverybody({ channelId, config: written ?? before.config });
    const usable = written && (await checks.usableConfig({ agentEndpoint, config: written }, before));
    const updated = await routes.update(
      before.id,
      { ...changes, ...usable?.stored },
      changeBy(caller, 'change'),
      seenBy(ifMatch),
    );
    if (!updated) throw noSuchRoute();
    log.info({ ...fieldsOf(updated), fields: Object.keys(changes) }, 'route changed');
    return {
      status: 200,
      object: updated.id,
      headers: await coveredHeader(caller, updated),
      json: await stored('Route updated.', updated, usable?.warnings),
    };
  }

  /** The routes that the caller may use. */
  async function allowed(caller: Caller, found: readonly Route[]): Promise<Route[]> {
    const ids = allowedRoutes(caller);
    const isAllowed = await Promise.all(
      found.map(async (route) => (!ids || ids.includes(route.id)) && mayUseChat(caller, route, aliasesOf)),
    );
    return found.filter((_route, index) => isAllowed[index]);
  }

  /**
   * The route with this id, or the only one with this channelId in any of its spellings.
   * @throws {HttpProblem} 404 none, 409 several, 403 not for this caller
   */
  async function findRoute(caller: Caller, id = ''): Promise<Route> {
    const found = await routesNamed(id);
    const [route, ...others] = await allowed(caller, found);
    if (route && others.length > 0) throw severalRoutes([route, ...others]);
    if (route) return route;
    const [refused] = found;
    if (!refused) throw noSuchRoute();
    refuseOtherRoute(caller, refused.id);
    await refuseOtherChat(caller, refused, aliasesOf);
    return refused;
  }

  async function routesNamed(id: string): Promise<Route[]> {
    if (UUID.test(id)) {
      const route = await routes.get(id.toLowerCase());
      return route ? [route] : [];
    }
    const channelId = canonicalRouteChannelId(id);
    if (channelId === undefined) return [];
    const found = await Promise.all(
      writtenForms([channelId]).map((form) => routes.list({ channelId: form })),
    );
    return found.flat();
  }

  async function createdResponse(
    route: Route,
    found: Warning[] | undefined,
    more: Record<string, string> = {},
  ): Promise<ApiResponse> {
    const json = await stored('Route created.', route, found);
    return {
      status: 201,
      object: route.id,
      headers: { location: `/api/routes/${route.id}`, ...more },
      json,
    };
  }

  /** Names the route that takes each message of this one. A header, because the agent contract fixes the body. */
  async function coveredHeader(caller: Caller, route: Route): Promise<Record<string, string>> {
    const { accountId, channelId } = route;
    const inOrder = inRouteOrder(await routes.list({ accountId, channelId }));
    const covering = coveringRoute(route, inOrder);
    const [shown] = covering ? await allowed(caller, [covering]) : [];
    return shown ? { 'x-wa2ai-covered-by': shown.id } : {};
  }

  /** The response about a stored route. Its agent is probed unless only other fields changed. */
  async function stored(message: string, route: Route, found: Warning[] | undefined) {
    const data = viewOf(agentKinds, route);
    const warnings = found ? [...found, ...(await routeProbe.findings(route))] : [];
    return { success: true, message, data, ...(warnings.length > 0 && { warnings }) };
  }
}

/** Of a log line. */
function fieldsOf({ id, accountId, channelId }: Route) {
  const jid = jidOfChannelId(channelId);
  return { routeId: id, accountId, ...(jid !== undefined && { jidHash: jidHash(accountId, jid) }) };
}

function severalRoutes(found: readonly Route[]): HttpProblem {
  return new HttpProblem(
    409,
    'SEVERAL_ROUTES',
    say('problem.several-routes', { count: found.length, channelId: found[0]?.channelId ?? '' }),
    found.slice(0, 20).map(({ id, name }) => ({ field: 'id', message: name ? `${id} (${name})` : id })),
  );
}

function noSuchRoute(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-route-or-channel'));
}
