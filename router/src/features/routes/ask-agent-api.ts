import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { withLimit } from '../../core/clock.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { newTestPerson } from '../../infra/agents/agent-tools.ts';
import { type Endpoint, endpoint, refuseOtherChat } from '../../infra/operations/endpoint.ts';
import { dataResponse } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { mistakeAt, phraseField } from '../../infra/operations/problem.ts';
import { RouteChecks } from './route-history-api.ts';
import { newRouteOf, ROUTE_EXAMPLE, type RouteSchemas, withNewRouteNames } from './route-schemas.ts';

/** Longest wait for the answer, also for agents that may take longer. */
const LIMIT_MS = 60_000;

const answerView = z
  .object({
    answer: z.string().optional().describe('As the agent wrote it. Absent: it says nothing, or has failed.'),
    isLater: z.boolean().optional().describe('The agent answers later, or works on a task.'),
    files: z.int().min(0).describe('How many files the answer has.'),
    problem: z
      .object({ code: z.string(), message: z.string(), phrase: phraseField })
      .optional()
      .describe('Why there is no answer.'),
    milliseconds: z.int().describe('How long the agent needed.'),
  })
  .meta({ id: 'TestAnswer' });

/** A message to the agent of a route that is not stored: `/api/routes/ask`. */
export function askAgentApi(app: App, schemas: RouteSchemas): Endpoint[] {
  const { agents, agentKinds, aliasesOf, clock, config } = app;
  const checks = new RouteChecks(app, schemas);
  const body = z
    .strictObject({
      route: schemas.body,
      text: z.string().min(1).max(4_096).describe('What the person writes.'),
    })
    .meta({ id: 'RouteQuestion', examples: [{ route: ROUTE_EXAMPLE, text: 'hello' }] });
  return [
    endpoint({
      tag: 'Routes',
      method: 'post',
      path: '/api/routes/ask',
      operationId: 'askAgentOfNewRoute',
      scopes: ['routes:write'],
      honours: ['chats', 'accounts'],
      summary: 'Send a message to the agent of a route that is not stored',
      description:
        'Runs the agent once, for an invented person whom nobody else is, and waits at most a minute. Stores nothing, and sends nothing to WhatsApp.',
      body,
      oldNames: withNewRouteNames,
      responses: { 200: { description: 'What the agent answered.', schema: dataResponse(answerView) } },
      handle: async ({ body: { route: written, text }, caller, signal }) => {
        const route = newRouteOf(agentKinds, written, config);
        await refuseOtherChat(caller, route, aliasesOf);
        checks.refuseOtherPrograms(caller, route.config);
        const { stored } = await checks.usableConfig(route, undefined);
        if (stored.agentEndpoint === '')
          throw invalid('body', [mistakeAt('route', say('field.run-by-wa2ai'))]);
        const now = new Date(clock.now());
        const client = agents.clientFor({
          ...route,
          ...stored,
          ...{ id: randomUUID(), createdAt: now, updatedAt: now },
        });
        const beganMs = clock.monotonicMs();
        const data = await withLimit(clock, LIMIT_MS, signal, (limited) =>
          client.sendMessage(stored.agentEndpoint, newTestPerson().says(text), { signal: limited }),
        ).then(
          ({ response, isLater, task, files = [], fileLinks = [] }) => ({
            ...(response !== undefined && { answer: response }),
            ...((isLater || task) && { isLater: true }),
            files: files.length + fileLinks.length,
          }),
          (error: unknown) => {
            if (!(error instanceof Wa2aiError)) throw error;
            const { phrase } = error.said;
            return {
              files: 0,
              problem: { code: error.code, message: error.message, ...(phrase && { phrase }) },
            };
          },
        );
        const milliseconds = Math.round(clock.monotonicMs() - beganMs);
        return { status: 200, json: { success: true, data: { ...data, milliseconds } } };
      },
    }),
  ];
}
