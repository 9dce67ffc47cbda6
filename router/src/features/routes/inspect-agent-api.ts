import { z } from 'zod';
import type { NoAgent } from '../../infra/agents/inspect-agent.ts';
import type { Inspection } from '../../infra/agents/inspection.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { dataResponse } from '../../infra/operations/fields.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';

export interface InspectAgentApiDeps {
  inspectAgent(url: string): Promise<Inspection | NoAgent>;
  /** Why the egress policy refuses an address; undefined: it does not. */
  egressRefusalOf(url: string): string | undefined;
}

const body = z
  .strictObject({
    agentEndpoint: z
      .string()
      .max(2_000)
      .refine(
        (url) => /^https?:\/\//i.test(url) && URL.canParse(url),
        'must be a URL that begins with http:// or https://',
      )
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
    route: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('A body for `POST /api/routes`. Absent: something is not known that a route needs.'),
  })
  .meta({ id: 'AgentInspection' });

/** What kind of agent answers at an address: `/api/routes/inspect`. */
export function inspectAgentApi({ inspectAgent, egressRefusalOf }: InspectAgentApiDeps): Endpoint[] {
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
          const message = `is refused: ${refusal}`;
          const detail = { field: 'agentEndpoint', message };
          throw new HttpProblem(400, 'INVALID_BODY', `agentEndpoint ${message}.`, [detail]);
        }
        const found = await inspectAgent(agentEndpoint);
        if (found === 'no-answer') {
          throw new HttpProblem(404, 'NOT_FOUND', 'No agent answers there. Start it, and check its address.');
        }
        if (found === 'unknown-protocol') {
          throw new HttpProblem(
            404,
            'NOT_FOUND',
            'An HTTP server answers there, and its protocol is unknown. Check the path, or add a route with the kind of the agent.',
          );
        }
        const { kind, url, isReachable, answer, latencyMs, version, capabilities, route } = found;
        const data = {
          ...{ kind, url, isReachable, answer, latencyMs, capabilities },
          ...(version !== undefined && { version }),
          ...(route && { route }),
        };
        return { status: 200, json: { success: true, data } };
      },
    }),
  ];
}
