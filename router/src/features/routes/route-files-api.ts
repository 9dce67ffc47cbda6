import { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import type { Route } from '../../core/models.ts';
import { PHRASES, type Said, say } from '../../core/phrases.ts';
import { PLAYGROUND } from '../../core/playground/playground-account.ts';
import type { NewRoute, RouteChanges } from '../../core/ports/route-store.ts';
import type { App } from '../../feature.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { routeConfigOf } from '../../infra/agents/route-config.ts';
import { maskedConfig, unmasked } from '../../infra/agents/route-secrets.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { accountIdField, changedResponse } from '../../infra/operations/fields.ts';
import { invalid, writeYaml } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt } from '../../infra/operations/problem.ts';
import { refuseUnknownAccount } from '../accounts/account-view.ts';
import {
  changeBy,
  changeTable,
  expectedVersionField,
  type RouteChangeView,
  RouteChecks,
  routeChangeOf,
  routeChangeView,
  routesChangedResponse,
} from './route-history-api.ts';
import { type RouteSchemas, type Warning, withNewRouteNames } from './route-schemas.ts';

/** Routes of one file. */
const MAX_ROUTES = 5_000;
const MAX_FILE_BYTES = 10_000_000;

const FILE_EXAMPLE = {
  routes: [
    {
      name: 'support',
      channelId: '*',
      agentEndpoint: 'http://localhost:8000',
      config: { adk: { appName: 'my_agent' } },
    },
  ],
};

const isTrue = z.enum(['true', 'false']).optional();

const planView = z.object({
  version: z.int().describe('The newest version of the route table.'),
  changes: z.array(routeChangeView),
  unchanged: z.int().describe('Number of routes of the file that are stored as they are.'),
});

/** The route table as a file: `/api/routes/export` and `/api/routes/apply`. */
export function routeFilesApi(app: App, schemas: RouteSchemas): Endpoint[] {
  const { routes, routeHistory, agentKinds, log } = app;
  const checks = new RouteChecks(app, schemas);
  const common = { tag: 'Routes' };
  const file = z
    .strictObject({ routes: z.array(schemas.ofFile).max(MAX_ROUTES) })
    .meta({ id: 'RoutesFile', examples: [FILE_EXAMPLE] });
  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/routes/export',
      operationId: 'exportRoutes',
      isAudited: true,
      scopes: ['routes:read'],
      honours: [],
      summary: 'Write the route table as a file',
      description:
        'YAML, or JSON with `format=json` or `Accept: application/json`. Secrets are `***`, which `POST /api/routes/apply` reads as the stored secret.',
      query: z.strictObject({
        format: z.enum(['yaml', 'json']).optional().describe('Default: as `Accept` asks, else YAML.'),
        accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
        environment: z.enum(['lab', 'prod']).optional().describe('Only this environment. Default: both.'),
      }),
      headers: { accept: '`application/json` for JSON.' },
      responses: {
        200: {
          description: '`{routes}`, oldest first.',
          contentType: 'application/yaml',
          schema: z.string(),
        },
      },
      handle: async ({ query: { format, environment, accountId }, header }) => {
        const found = await routes.list(accountId === undefined ? {} : { accountId });
        const wanted = found.filter((route) => route.environment === (environment ?? route.environment));
        const content = { routes: wanted.map((route) => fileEntry(agentKinds, route)) };
        const asJson =
          format === 'json' || (!format && /\bapplication\/json\b/i.test(header('accept') ?? ''));
        const name = asJson ? 'routes.json' : 'routes.yaml';
        const headers = { 'content-disposition': `attachment; filename="${name}"` };
        if (asJson) return { status: 200, headers, json: content };
        return {
          status: 200,
          headers: { ...headers, 'content-type': 'application/yaml; charset=utf-8' },
          text: await writeYaml(content),
        };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/routes/apply',
      operationId: 'applyRoutes',
      scopes: ['routes:write'],
      honours: [],
      summary: 'Make the route table as a file says',
      description:
        'YAML (`Content-Type: application/yaml`) or JSON. A route is found by its `id`, else by its `name` in its account and environment; one that is not found is created. All is stored in one transaction, as one version; a file that is applied again changes nothing.',
      takesYaml: true,
      maxBodyBytes: MAX_FILE_BYTES,
      body: file,
      oldNames: withNewRouteNames,
      query: z.strictObject({
        dryRun: isTrue.describe('`true`: only says what would change.'),
        prune: isTrue.describe(
          '`true`: deletes routes that the file does not have, of the accounts and environments that it has.',
        ),
        expectedVersion: z
          .string()
          .regex(/^\d{1,9}$/, PHRASES['field.version-number'])
          .transform(Number)
          .optional()
          .describe(expectedVersionField.description ?? ''),
      }),
      responses: {
        200: {
          description: 'What changed, or would change.',
          schema: changedResponse(planView),
        },
        409: routesChangedResponse,
      },
      handle: async ({ body, query: { dryRun, prune, expectedVersion }, caller }) => {
        const isDryRun = dryRun === 'true';
        const by = changeBy(caller, 'apply');
        const { version, changes, shown, unchanged, warnings } = await changeTable(
          app,
          by,
          expectedVersion,
          async (table) => {
            const plan = await planRoutes(app, checks, caller, table, body.routes, prune === 'true');
            return isDryRun ? { ...plan, changes: undefined } : plan;
          },
        );
        const stored = changes && (await routeHistory.version(version));
        // With the ids of new routes.
        const made = stored?.changes.flatMap((change) => routeChangeOf(agentKinds, change) ?? []) ?? shown;
        if (changes) log.info({ version, routes: made.length }, 'routes applied');
        const message = isDryRun ? 'Nothing was changed: a dry run.' : 'Routes applied.';
        return {
          status: 200,
          object: String(version),
          json: {
            success: true,
            message,
            data: { version, changes: made, unchanged },
            ...(warnings.length > 0 && { warnings }),
          },
        };
      },
    }),
  ];
}

/** A route of a file. Without `config` if the stored one cannot be used: it then stays as it is. */
function fileEntry(kinds: readonly AgentKind[], route: Route): Record<string, unknown> {
  const { id, name, accountId, channelId, environment, priority, enabled, regexFilter, agentEndpoint } =
    route;
  return {
    id,
    ...(name !== undefined && { name }),
    ...{ accountId, channelId, environment, priority, enabled },
    ...(regexFilter !== undefined && { regexFilter }),
    ...(agentEndpoint !== '' && { agentEndpoint }),
    ...(route.damage === undefined
      ? { config: maskedConfig(kinds, route.config) }
      : { damage: route.damage }),
  };
}

/** A route of a file. */
type RouteOfFile = z.output<RouteSchemas['ofFile']>;

/** What a file would change. */
interface RoutesPlan {
  /** Absent: nothing. */
  changes?: RouteChanges;
  shown: RouteChangeView[];
  unchanged: number;
  warnings: Warning[];
}

/**
 * Compares the routes of a file with the table. A route is found by its id, else by its name among those of its account and
 * environment; one that is not found is created. Routes that do not change are not checked.
 * @param prune deletes routes of the accounts and environments of the file that the file does not have
 * @throws {HttpProblem} 400, fields begin with `routes.0`; 403 the caller may not store one of the routes
 */
async function planRoutes(
  app: App,
  checks: RouteChecks,
  caller: Caller,
  table: readonly Route[],
  file: readonly RouteOfFile[],
  prune: boolean,
): Promise<RoutesPlan> {
  const plan: RoutesPlan = { shown: [], unchanged: 0, warnings: [] };
  const changes: RouteChanges = { create: [], update: [], delete: [] };
  const found = new Set<string>();
  const scopes = new Set<string>();
  for (const [index, written] of file.entries()) {
    await inField(index, async () => {
      const before = storedRoute(app, table, written);
      const id = before?.id ?? written.id;
      if (id !== undefined && found.has(id)) throw mistake('id', say('field.twice-in-file'));
      if (id !== undefined) found.add(id);
      const { config: ofFile, ...fields } = fieldsOf(app, written, before);
      const { agentEndpoint, environment, accountId } = fields;
      scopes.add(JSON.stringify([accountId, environment]));
      const config = ofFile
        ? unmasked(app.agentKinds, { agentEndpoint, config: ofFile }, before).config
        : before?.config;
      if (!config) throw mistake('config', say('field.missing'));
      const shown = routeChangeOf(app.agentKinds, { before, after: { ...fields, config, id } });
      if (!shown) {
        plan.unchanged += 1;
        return;
      }
      if (before?.accountId !== accountId) {
        refuseUnknownAccount(app.accounts, accountId, app.config.accountId, PLAYGROUND);
      }
      checks.refuseOtherPrograms(caller, before?.config ?? {});
      checks.refuseOtherPrograms(caller, config);
      checks.refuseEverybody({ channelId: fields.channelId, config });
      const usable = ofFile && (await checks.usableConfig({ agentEndpoint, config: ofFile }, before));
      for (const warning of usable?.warnings ?? []) {
        plan.warnings.push({ ...warning, field: `routes.${index}.${warning.field}` });
      }
      plan.shown.push(shown);
      if (before) changes.update.push({ id: before.id, change: { ...fields, ...usable?.stored } });
      else changes.create.push({ ...fields, config, ...usable?.stored, ...(id !== undefined && { id }) });
    });
  }
  const isPruned = (route: Route) =>
    prune && !found.has(route.id) && scopes.has(JSON.stringify([route.accountId, route.environment]));
  for (const route of table.filter(isPruned)) {
    checks.refuseOtherPrograms(caller, route.config);
    const shown = routeChangeOf(app.agentKinds, { before: route });
    if (shown) plan.shown.push(shown);
    changes.delete.push(route.id);
  }
  return plan.shown.length > 0 ? { ...plan, changes } : plan;
}

function storedRoute(
  { config }: App,
  table: readonly Route[],
  { id, name, accountId = config.accountId, environment = config.environment }: RouteOfFile,
): Route | undefined {
  if (id !== undefined) return table.find((route) => route.id === id);
  const [found, ...others] = table.filter(
    (route) => route.name === name && route.accountId === accountId && route.environment === environment,
  );
  if (others.length > 0) throw mistake('name', say('field.several-routes', { count: others.length + 1 }));
  return found;
}

/** The whole route: what the file does not say is as in a new route. `config` is absent if the file has none. */
function fieldsOf(
  { agentKinds, config: defaults }: App,
  written: RouteOfFile,
  before: Route | undefined,
): Omit<NewRoute, 'config'> & Partial<Pick<NewRoute, 'config'>> {
  const { accountId, environment } = before ?? defaults;
  return {
    accountId: written.accountId ?? accountId,
    channelId: written.channelId,
    agentEndpoint: written.agentEndpoint ?? '',
    environment: written.environment ?? environment,
    regexFilter: written.regexFilter ?? undefined,
    priority: written.priority ?? 0,
    enabled: written.enabled ?? true,
    name: written.name ?? undefined,
    ...(written.config && { config: routeConfigOf(agentKinds, written.config) }),
  };
}

function mistake(field: string, said: Said): HttpProblem {
  return invalid('body', [mistakeAt(field, said)]);
}

/** Runs the check of a route of the file; the fields of its mistakes begin with the place of the route. */
async function inField(index: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof HttpProblem) || error.status !== 400 || !error.details) throw error;
    const details = error.details.map(({ field, ...mistake }) => ({
      field: `routes.${index}.${field}`,
      ...mistake,
    }));
    throw invalid('body', details);
  }
}
