import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/admission.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { commonConfigField } from '../../infra/agents/route-config.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { dataResponse } from '../../infra/operations/fields.ts';

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
