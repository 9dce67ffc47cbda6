import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Caller, mayDo } from '../../core/access/caller.ts';
import { ANY_CHANNEL, canonicalChannelId } from '../../core/chat-id.ts';
import type { Route, RouteConfig } from '../../core/models.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { RouteAction, RouteChangeBy, RouteChanges } from '../../core/ports/route-store.ts';
import type { App } from '../../feature.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { kindNamed, wireConfigOf } from '../../infra/agents/route-config.ts';
import { type AgentOfRoute, maskedConfig, unmasked } from '../../infra/agents/route-secrets.ts';
import {
  type Endpoint,
  endpoint,
  refuseOtherChat,
  refuseOtherRoute,
} from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  dataResponse,
  pageOf,
  pageQuery,
  pageResponse,
  shown,
  timeView,
  wholeNumberQuery,
} from '../../infra/operations/fields.ts';
import { invalid, validate } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, problemSchema } from '../../infra/operations/problem.ts';
import type { ResponseDoc } from '../../infra/operations/response.ts';
import type { RouteChange, RouteVersion } from './postgres-route-history.ts';
import { type RouteSchemas, routeView, viewOf, type Warning } from './route-schemas.ts';

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
function tableChanges(before: readonly Route[], after: readonly Route[]): RouteChange[] {
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

const MAX_VERSION = 999_999_999;

const versionField = z.int().min(0).max(MAX_VERSION);

/** Of calls that change several routes. */
export const expectedVersionField = versionField
  .optional()
  .describe(
    'The newest version that the caller has seen: if there is a newer one, nothing is stored and the call ends with 409 `ROUTES_CHANGED`.',
  );

/** Of calls that change several routes. */
export const routesChangedResponse: ResponseDoc = {
  description: 'The table changed meanwhile; nothing was stored.',
  schema: problemSchema,
};

/** A version of the route table. */
export const versionView = z
  .object({
    version: z.int().describe('From 1, without gaps.'),
    at: timeView,
    action: z.enum(['create', 'change', 'delete', 'apply', 'order', 'rollback']),
    caller: z
      .string()
      .optional()
      .describe('As in the audit log. Absent: no call made it, such as the deletion of an account.'),
    keyId: z.string().optional().describe('Of a key of the API.'),
    restored: z.int().optional().describe('Of a rollback: the version that it restored.'),
    created: z.int().describe('Number of routes that it created.'),
    changed: z.int().describe('Number of routes that it changed.'),
    deleted: z.int().describe('Number of routes that it deleted.'),
    routes: z
      .array(z.object({ id: z.string(), name: z.string().optional(), channelId: z.string() }))
      .describe('The first five of these routes.'),
  })
  .meta({ id: 'RouteVersion' });

const versionDetailView = versionView
  .extend({
    changes: z.array(routeChangeView).describe('The difference to the version before.'),
    table: z.array(routeView).describe('The table as this version left it, oldest route first.'),
  })
  .meta({ id: 'RouteVersionDetail' });

const rollbackBody = z
  .strictObject({
    version: versionField.describe('The version whose table is restored. 0: the table before version 1.'),
    expectedVersion: expectedVersionField,
  })
  .meta({ id: 'RouteRollback', examples: [{ version: 41 }] });

const rollbackView = z.object({
  version: z.int().describe('The new version; the newest one, when nothing changed.'),
  changes: z.array(routeChangeView),
});

const noVersion: ResponseDoc = { description: 'No such version is stored.', schema: problemSchema };

/** Versions of the route table: `/api/routes/history` and `/api/routes/rollback`. */
export function routeHistoryApi(app: App, schemas: RouteSchemas): Endpoint[] {
  const { routes, routeHistory, agentKinds, log } = app;
  const checks = new RouteChecks(app, schemas);
  const common = { tag: 'Routes' };
  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/history',
      operationId: 'listRouteVersions',
      scopes: ['routes:read'],
      honours: [],
      summary: 'List the versions of the route table, newest first',
      description: 'Every change of a route is a version, by any caller. The newest 1,000 are kept.',
      query: z.strictObject(pageQuery(wholeNumberQuery(1, MAX_VERSION), 50)),
      responses: { 200: { description: 'A page of versions.', schema: pageResponse(versionView) } },
      handle: async ({ query: { cursor, limit } }) => {
        const found = await routeHistory.versions({
          ...(cursor !== undefined && { before: cursor }),
          limit: limit + 1,
        });
        return { status: 200, json: pageOf(found.map(versionViewOf), limit, (view) => String(view.version)) };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/history/{version}',
      operationId: 'getRouteVersion',
      isAudited: true,
      scopes: ['routes:read'],
      honours: [],
      summary: 'Show a version: what it changed, and the table then',
      responses: {
        200: { description: 'The version.', schema: dataResponse(versionDetailView) },
        404: noVersion,
      },
      handle: async ({ params: { version: text = '' } }) => {
        const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
        const found = number === undefined ? undefined : await routeHistory.version(number);
        if (!found) throw noSuchVersion();
        const table = await routeHistory.tableAt(found.version.number);
        return {
          status: 200,
          object: text,
          json: {
            success: true,
            data: {
              ...versionViewOf(found.version),
              changes: found.changes.flatMap((change) => routeChangeOf(agentKinds, change) ?? []),
              table: table.map((route) => viewOf(agentKinds, route)),
            },
          },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/routes/rollback',
      operationId: 'rollbackRoutes',
      scopes: ['routes:write'],
      honours: [],
      summary: 'Restore the table of a version',
      description:
        'All routes become as that version left them, with their secrets, in one transaction. This is itself a version, which a rollback can undo. With `dryRun=true` it only says what would change.',
      query: z.strictObject({
        dryRun: z.enum(['true', 'false']).optional().describe('`true`: nothing is stored.'),
      }),
      body: rollbackBody,
      responses: {
        200: { description: 'What changed.', schema: changedResponse(rollbackView) },
        404: noVersion,
        409: routesChangedResponse,
      },
      handle: async ({ body: { version, expectedVersion }, query: { dryRun }, caller }) => {
        const newest = await routeHistory.newest();
        if (expectedVersion !== undefined && expectedVersion !== newest) throw routesChanged();
        await refuseUnknownVersion(version, newest);
        const [before, after] = [await routes.list(), await routeHistory.tableAt(version)];
        const all = tableChanges(before, after);
        const changes = all.flatMap((change) => {
          const shown = routeChangeOf(agentKinds, change);
          if (!shown) return [];
          for (const route of [change.before, change.after]) {
            if (route) checks.refuseOtherPrograms(caller, route.config);
          }
          return [shown];
        });
        if (dryRun === 'true' || changes.length === 0) {
          const message = changes.length === 0 ? 'Nothing differs.' : 'Nothing was changed: a dry run.';
          return { status: 200, json: { success: true, message, data: { version: newest, changes } } };
        }
        const made = await routes.restore(version, changeBy(caller, 'rollback'), newest);
        if (made === 'outdated') throw routesChanged();
        log.info({ version: made, restored: version, routes: changes.length }, 'routes rolled back');
        return {
          status: 200,
          object: String(version),
          json: {
            success: true,
            message: `Version ${version} restored.`,
            data: { version: made, changes },
          },
        };
      },
    }),
  ];

  /** @throws {HttpProblem} 404: neither a version that is stored nor the one before the oldest */
  async function refuseUnknownVersion(version: number, newest: number): Promise<void> {
    if (version === newest) return;
    // The change of the next version has the table that this one left, also when this one is not kept any more.
    if ((await routeHistory.version(version + 1)) === undefined) throw noSuchVersion();
  }
}

function versionViewOf(version: RouteVersion) {
  return shown(versionView, { ...version, version: version.number });
}

function noSuchVersion(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-version'));
}

/** A 409: the table has another version than the change was made for. */
function routesChanged(): HttpProblem {
  return new HttpProblem(409, 'ROUTES_CHANGED', say('problem.routes-changed'));
}

/** How often a change is made again for a table that changed meanwhile. */
const MAX_ATTEMPTS = 3;

/**
 * Makes a change of several routes for the table as it is, and stores it as one version; again when the table changed
 * meanwhile, unless the caller named the version that it has seen.
 * @param plan makes the change; `changes` absent: there is nothing to store. Runs once for each attempt
 * @returns the last plan, and the newest version after it
 * @throws {HttpProblem} 409: the table changed meanwhile; and what `plan` throws
 */
export async function changeTable<Plan extends { changes?: RouteChanges }>(
  { routes, routeHistory }: App,
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

/** What is stored with the version that a change of the routes makes. */
export function changeBy(caller: Caller, action: RouteAction): RouteChangeBy {
  return { action, caller: caller.kind, ...(caller.kind === 'key' && { keyId: caller.key.id }) };
}

/** Checks of a route that is to be stored, beside its schema. */
export class RouteChecks {
  readonly #app: App;
  readonly #changedConfig: z.ZodType;

  constructor(app: App, schemas: RouteSchemas) {
    this.#app = app;
    this.#changedConfig = schemas.changedConfig;
  }

  /** @throws {HttpProblem} 403: the config names a fallback route that the caller may not use */
  async refuseOtherFallback(caller: Caller, next?: RouteConfig, before?: RouteConfig): Promise<void> {
    const id = next?.failure?.fallbackRouteId;
    if (id === undefined || id === before?.failure?.fallbackRouteId) return;
    refuseOtherRoute(caller, id);
    const fallback = await this.#app.routes.get(id);
    if (fallback) await refuseOtherChat(caller, fallback, this.#app.aliasesOf);
  }

  /**
   * The config to store: masks replaced by the stored secrets, everything checked.
   * @throws {HttpProblem} 400: the config cannot be used, one sentence per mistake
   */
  async usableConfig(
    next: AgentOfRoute,
    before: AgentOfRoute | undefined,
  ): Promise<{ stored: AgentOfRoute; warnings: Warning[] }> {
    const { agent } = next.config;
    const hasNoEndpoint =
      kindNamed(this.#app.agentKinds, agent?.kind)?.hasNoEndpoint?.(agent?.settings) ?? false;
    const agentEndpoint = hasNoEndpoint ? '' : next.agentEndpoint;
    if (!hasNoEndpoint && agentEndpoint === '') {
      throw invalid('body', [{ field: 'agentEndpoint', message: PHRASES['field.missing'] }]);
    }
    const { config, dropped, unknown } = unmasked(this.#app.agentKinds, { ...next, agentEndpoint }, before);
    if (unknown.length > 0) {
      const message = PHRASES['field.masked'];
      throw invalid(
        'body',
        unknown.map((field) => ({ field, message })),
      );
    }
    validate(this.#changedConfig, { config: wireConfigOf(config) }, 'body');
    await this.#refuseUnusable(config);
    const refused = this.#app.routeProbe.refusedAddresses({ agentEndpoint, config });
    if (refused.length > 0) throw invalid('body', refused);
    const secretDropped = say('route.secret-dropped');
    return {
      stored: { agentEndpoint, config },
      warnings: dropped.map((field) => ({ code: 'SECRETS_DROPPED', ...mistakeAt(field, secretDropped) })),
    };
  }

  /** @throws {HttpProblem} 403: the caller may not make wa2ai run programs, which this route does */
  refuseOtherPrograms(caller: Caller, { agent }: RouteConfig): void {
    refusePrograms(caller, kindNamed(this.#app.agentKinds, agent?.kind), agent?.settings);
  }

  /** @throws {HttpProblem} 400: a route for everybody to an agent that is for one chat */
  refuseEverybody({ channelId, config: { agent } }: Pick<Route, 'channelId' | 'config'>): void {
    const kind = kindNamed(this.#app.agentKinds, agent?.kind);
    if (!kind?.isForOneChat || canonicalChannelId(channelId) !== ANY_CHANNEL) return;
    throw invalid('body', [mistakeAt('channelId', say('field.one-chat', { kind: kind.name }))]);
  }

  /** @throws {HttpProblem} 400: settings that their agent kind cannot use */
  async #refuseUnusable({ agent }: RouteConfig): Promise<void> {
    const kind = kindNamed(this.#app.agentKinds, agent?.kind);
    const problems = (await kind?.check?.(agent?.settings)) ?? [];
    if (problems.length === 0) return;
    throw invalid(
      'body',
      problems.map(({ field, said }) => mistakeAt(`config.${kind?.name}.${field}`, said)),
    );
  }
}

/** @throws {HttpProblem} 403: the caller may not make wa2ai run the program that these settings of a kind describe */
export function refusePrograms(caller: Caller, kind: AgentKind | undefined, settings: unknown): void {
  const scope = kind?.scopeOf?.(settings);
  if (scope !== undefined && !mayDo(caller, scope)) {
    throw new HttpProblem(403, 'SCOPE_MISSING', say('problem.key-lacks-scope', { scope }));
  }
}
