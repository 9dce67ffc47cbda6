import { z } from 'zod';
import type { Route } from '../../core/models.ts';
import { PHRASES } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { maskedConfig } from '../../infra/agents/route-secrets.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { accountIdField, changedResponse } from '../../infra/operations/fields.ts';
import { writeYaml } from '../../infra/operations/form.ts';
import { planRoutes } from './plan-routes.ts';
import { changeBy, RouteChecks } from './route-checks.ts';
import {
  changeTable,
  expectedVersionField,
  routeChangeOf,
  routeChangeView,
  routesChangedResponse,
} from './route-history-api.ts';
import { routeSchemas, warningView } from './route-schemas.ts';

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
export function routeFilesApi(app: App): Endpoint[] {
  const { routes, routeHistory, agentKinds, log } = app;
  const checks = new RouteChecks(app);
  const common = { tag: 'Routes' as const };
  const file = z
    .strictObject({ routes: z.array(routeSchemas(agentKinds).ofFile).max(MAX_ROUTES) })
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
          schema: changedResponse(planView).extend({ warnings: z.array(warningView).optional() }),
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
