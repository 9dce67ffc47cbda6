import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { App, Feature } from '../../feature.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { commonConfigField } from '../../infra/agents/route-config.ts';
import { ROUTE_CONFIG_CONTEXT, secretText } from '../../infra/db/encryption/secret-cipher.ts';
import { routesChanged } from '../../infra/db/stores/postgres-route-store.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { dataResponse } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, problemSchema } from '../../infra/operations/problem.ts';
import { askAgentApi } from './ask-agent-api.ts';
import { explainApi } from './explain-api.ts';
import { routeFilesApi } from './route-files-api.ts';
import { routeHistoryApi } from './route-history-api.ts';
import { routeOrderApi } from './route-order-api.ts';
import { routeSchemas } from './route-schemas.ts';
import { routesApi } from './routes-api.ts';

export const routes: Feature = {
  name: 'routes',
  tags: { Routes: 'Which agent answers which chat.' },
  secrets: (['before', 'after'] as const).map((column) =>
    secretText({
      table: 'route_version_change',
      column,
      text: `coalesce(${column} #>> '{config,encrypted}', (${column} -> 'config')::text)`,
      typed: (text) => `jsonb_set(${column}, '{config}', jsonb_build_object('encrypted', ${text}))`,
      context: ROUTE_CONFIG_CONTEXT,
    }),
  ),
  // Of the whole table.
  liveEvents: { route: { scopes: ['routes:read'], honours: [] } },
  noteChanges: (bus, note) => bus.on(routesChanged, () => note({ type: 'route' })),
  operations: (app) => {
    const schemas = routeSchemas(app.agentKinds);
    return [
      ...explainApi(app),
      ...inspectAgentApi(app),
      ...askAgentApi(app, schemas),
      ...routeHistoryApi(app, schemas),
      ...routeFilesApi(app, schemas),
      ...routeOrderApi(app),
      ...routesApi(app, schemas),
      ...agentKindsApi(app),
    ];
  },
};

const schemaView = z
  .record(z.string(), z.unknown())
  .describe('JSON Schema (2020-12). Secrets have the format `password`, addresses the format `uri`.');

const kindView = z
  .object({
    name: z.string().describe('The field of `config` with its settings, such as `adk`.'),
    description: z.string(),
    schema: schemaView,
    hasEndpoint: z
      .boolean()
      .describe('Whether a route of this kind may need an `agentEndpoint`. `false`: wa2ai runs the agent.'),
    isForOneChat: z.boolean().describe('A route of this kind cannot be for `*`.'),
    isProbed: z.boolean().describe('Whether `POST /api/routes/test` can probe the agent.'),
  })
  .meta({ id: 'AgentKind' });

const kindsView = z.object({
  kinds: z.array(kindView),
  common: schemaView.describe('The fields of `config` that all kinds share, as a JSON Schema.'),
});

/** The agent kinds with the schemas of their settings, for forms: `GET /api/agent-kinds`. */
export function agentKindsApi({ agentKinds }: { agentKinds: readonly AgentKind[] }): Endpoint[] {
  let made: z.output<typeof kindsView> | undefined;
  return [
    endpoint({
      method: 'get',
      path: '/api/agent-kinds',
      operationId: 'listAgentKinds',
      scopes: ['routes:read'],
      honours: RESTRICTIONS,
      tag: 'Routes',
      summary: 'List the agent kinds with the schemas of their settings',
      description: 'The schemas are those that validate the `config` of a route.',
      responses: { 200: { description: 'The kinds.', schema: dataResponse(kindsView) } },
      handle: () => {
        made ??= { kinds: agentKinds.map(viewOf), common: schemaOf(commonConfigField) };
        return { status: 200, json: { success: true, data: made } };
      },
    }),
  ];
}

function viewOf(kind: AgentKind): z.output<typeof kindView> {
  const { name, description, settings, hasNoEndpoint, isForOneChat = false, probe } = kind;
  return {
    name,
    description,
    schema: schemaOf(settings),
    // Without settings: whether all of its agents run inside wa2ai.
    hasEndpoint: !hasNoEndpoint?.(undefined),
    isForOneChat,
    isProbed: probe !== undefined,
  };
}

function schemaOf(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
}

const body = z
  .strictObject({
    agentEndpoint: z
      .string()
      .max(2_000)
      .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), PHRASES['field.http-url'])
      .describe('Base URL of the agent.'),
  })
  .meta({ id: 'AgentToInspect', examples: [{ agentEndpoint: 'http://localhost:8000' }] });

const inspectionView = z
  .object({
    kind: z.string().describe('The agent kind, as in `config` of a route.'),
    url: z.string(),
    isReachable: z.boolean(),
    answer: z.string().describe('How the agent answered, or why not.'),
    latencyMs: z.int().describe('Of one harmless request.'),
    version: z.string().optional().describe('As the agent states it.'),
    capabilities: z.array(z.string()).describe('What it can do, as far as it says.'),
    apps: z.array(z.string()).optional().describe('Agents of an ADK server: names for `appName`.'),
    models: z.array(z.string()).optional().describe('Models of a model server: names for `model`.'),
    route: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('A body for `POST /api/routes`. Absent: something is not known that a route needs.'),
  })
  .meta({ id: 'AgentInspection' });

/** What kind of agent answers at an address: `/api/routes/inspect`. */
function inspectAgentApi({ inspectAgent, egressRefusalOf }: App): Endpoint[] {
  return [
    endpoint({
      tag: 'Routes',
      method: 'post',
      path: '/api/routes/inspect',
      operationId: 'inspectAgent',
      scopes: ['routes:write'],
      honours: [],
      summary: 'Find out what kind of agent answers at an address',
      description: 'Sends harmless requests of each protocol. Does not run the agent.',
      body,
      responses: {
        200: { description: 'What the agent says about itself.', schema: dataResponse(inspectionView) },
        404: { description: 'No agent answers there.', schema: problemSchema },
      },
      handle: async ({ body: { agentEndpoint } }) => {
        const refusal = egressRefusalOf(agentEndpoint);
        if (refusal !== undefined) {
          throw invalid('body', [mistakeAt('agentEndpoint', say('field.refused', { why: refusal }))]);
        }
        const found = await inspectAgent(agentEndpoint);
        if (found === 'no-answer') {
          throw new HttpProblem(404, 'NOT_FOUND', say('agent.unreachable'));
        }
        if (found === 'unknown-protocol') {
          throw new HttpProblem(404, 'NOT_FOUND', say('agent.unknown-protocol'));
        }
        const { kind, url, isReachable, answer, latencyMs, version, capabilities, apps, models, route } =
          found;
        const data = {
          ...{ kind, url, isReachable, answer, latencyMs, capabilities },
          ...(version !== undefined && { version }),
          ...(apps && { apps }),
          ...(models && { models }),
          ...(route && { route }),
        };
        return { status: 200, json: { success: true, data } };
      },
    }),
  ];
}
