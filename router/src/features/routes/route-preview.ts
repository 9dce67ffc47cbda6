import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Caller, mayDo } from '../../core/access/caller.ts';
import { isUsername } from '../../core/chat-id.ts';
import type { Route } from '../../core/models.ts';
import { issueOf, say } from '../../core/phrases.ts';
import type { NewRoute } from '../../core/ports/route-store.ts';
import type { PreviewChoice, RoutePreview } from '../../core/routing/explain-route.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { accountIdField, dataResponse, shown, timeView } from '../../infra/operations/fields.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { RouteChecks } from './route-history-api.ts';
import { orderedRoutes, orderField } from './route-order-api.ts';
import { changesOf, newRouteOf, type RouteSchemas, withNewRouteNames } from './route-schemas.ts';

const DEFAULT_MESSAGES = 200;
const MAX_MESSAGES = 1_000;
/** Messages in the response, and the characters of each. */
const MAX_SHOWN = 200;
const MAX_TEXT_CHARS = 100;

const idField = z.uuid().transform((id) => id.toLowerCase());

const choiceView = z
  .object({
    routeId: z.string().optional().describe('Absent: no route takes it, or the new route does.'),
    isNew: z.literal(true).optional().describe('The new route takes it.'),
    name: z.string().optional().describe('The name of the route.'),
    reason: z.string().optional().describe('Why no route takes it, such as `no-match`.'),
  })
  .meta({ id: 'PreviewChoice' });

const previewView = z
  .object({
    checked: z.int().describe('Number of messages that were evaluated, the newest ones.'),
    isComplete: z.boolean().describe('`false`: the time was over before all were evaluated.'),
    changed: z.int().describe('Number of those whose result would be another one.'),
    groups: z
      .array(z.object({ before: choiceView, after: choiceView, messages: z.int() }))
      .describe('Messages by their result before and after, the largest group first.'),
    messages: z
      .array(
        z.object({
          id: z.string(),
          chatId: z.string(),
          accountId: z.string(),
          receivedAt: timeView,
          channelId: z.string().optional().describe('Only for callers that may read messages.'),
          username: z.string().optional().describe("User name of the chat's person, without `@`."),
          text: z.string().optional().describe('Its beginning; only for callers that may read messages.'),
          before: choiceView,
          after: choiceView,
        }),
      )
      .describe('Messages whose result would be another one, newest first, at most 200.'),
  })
  .meta({ id: 'RoutePreview' });

/** What a change of the route table would have changed: `POST /api/routes/preview`. */
export function routePreview(app: App, schemas: RouteSchemas): Endpoint {
  const { routes, messageLog, agentKinds, config, previewRoutes } = app;
  const checks = new RouteChecks(app, schemas);
  const changes = {
    create: schemas.body.optional().describe('A new route, as in `POST /api/routes`.'),
    change: z
      .strictObject({ id: idField, patch: schemas.patch })
      .optional()
      .describe('Changes of a route, as in `PATCH /api/routes/{id}`.'),
    remove: idField.optional().describe('The route that is deleted.'),
    order: orderField.optional(),
  };
  const body = z
    .strictObject({
      ...changes,
      accountId: accountIdField.optional().describe('Only messages of this WhatsApp account. Default: all.'),
      messages: z
        .int()
        .min(1)
        .max(MAX_MESSAGES)
        .optional()
        .describe(`Number of messages to evaluate, the newest ones. Default: ${DEFAULT_MESSAGES}.`),
    })
    .refine(
      (given) =>
        Object.keys(changes).filter((name) => given[name as keyof typeof given] !== undefined).length === 1,
      issueOf(say('field.exactly-one-of', { fields: Object.keys(changes).join(', ') })),
    )
    .meta({ id: 'RouteChangeToPreview', examples: [{ remove: '01900000-0000-7000-8000-000000000001' }] });

  return endpoint({
    method: 'post',
    path: '/api/routes/preview',
    operationId: 'previewRoutes',
    scopes: ['routes:read'],
    honours: [],
    tag: 'Routes',
    summary: 'Say what a change of routes would have changed for the last messages',
    description:
      'Evaluates the last messages with the table as it is and with the changed one, by the same rules as a received message: at the time when it was received, with the tags that its chat has now. Stores and sends nothing. Takes at most about five seconds. A new route with `percent` gets another share of chats when it is stored.',
    body,
    oldNames: withNewRouteNames,
    responses: {
      200: { description: 'What would change.', schema: dataResponse(previewView) },
      404: { description: 'No such route.', schema: problemSchema },
    },
    handle: async ({ body: wanted, caller }) => {
      const before = await routes.list();
      const { after, newId } = await changedTable(before, wanted);
      const { accountId, messages: limit = DEFAULT_MESSAGES } = wanted;
      const messages = await messageLog.messagesToRoute({
        limit,
        ...(accountId !== undefined && { accountId }),
      });
      const preview = await previewRoutes({ before, after }, messages);
      const names = new Map([...before, ...after].map(({ id, name }) => [id, name]));
      const view = viewOf(caller, preview, (choice) => choiceViewOf(choice, names, newId));
      return { status: 200, json: { success: true, data: view } };
    },
  });

  async function changedTable(
    before: readonly Route[],
    wanted: z.output<typeof body>,
  ): Promise<{ after: Route[]; newId?: string }> {
    const { create, change, remove, order } = wanted;
    if (create) {
      const route = newRouteOf(agentKinds, create, config);
      await refuseUnusable(route, undefined);
      const at = new Date();
      const newId = randomUUID();
      return { after: [...before, { ...route, id: newId, createdAt: at, updatedAt: at }], newId };
    }
    if (change) {
      const route = routeOf(before, change.id);
      const changed = { ...route, ...changesOf(agentKinds, route, change.patch) };
      if (change.patch.config !== undefined || change.patch.agentEndpoint !== undefined) {
        await refuseUnusable(changed, route);
      }
      return { after: before.map((each) => (each.id === change.id ? changed : each)) };
    }
    if (remove !== undefined) {
      routeOf(before, remove);
      return { after: before.filter(({ id }) => id !== remove) };
    }
    const { priorities } = orderedRoutes(before, order ?? []);
    const byId = new Map(priorities.map(({ id, priority }) => [id, priority]));
    return { after: before.map((each) => ({ ...each, priority: byId.get(each.id) ?? each.priority })) };
  }

  async function refuseUnusable(route: NewRoute, before: Route | undefined): Promise<void> {
    checks.refuseEverybody(route);
    await checks.usableConfig(route, before);
  }
}

/** @throws {HttpProblem} 404 */
function routeOf(table: readonly Route[], id: string): Route {
  const route = table.find((each) => each.id === id);
  if (!route) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-route'));
  return route;
}

function viewOf(
  caller: Caller,
  { checked, isComplete, groups, changed }: RoutePreview,
  choice: (choice: PreviewChoice) => z.output<typeof choiceView>,
): z.output<typeof previewView> {
  const readsMessages = mayDo(caller, 'messages:read');
  return shown(previewView, {
    checked,
    isComplete,
    changed: changed.length,
    groups: groups.map((group) => ({
      ...group,
      before: choice(group.before),
      after: choice(group.after),
    })),
    messages: changed.slice(0, MAX_SHOWN).map(({ message, before, after }) => ({
      id: message.messageId,
      chatId: message.chatId,
      accountId: message.accountId,
      receivedAt: message.receivedAtMs,
      ...(readsMessages && {
        channelId: message.channelIds[0] ?? '',
        username: message.channelIds.find(isUsername)?.slice(1),
        text: message.message.text.slice(0, MAX_TEXT_CHARS),
      }),
      before: choice(before),
      after: choice(after),
    })),
  });
}

function choiceViewOf(
  choice: PreviewChoice,
  names: ReadonlyMap<string, string | undefined>,
  newId: string | undefined,
): z.output<typeof choiceView> {
  if ('reason' in choice) return { reason: choice.reason };
  const { routeId } = choice;
  const name = names.get(routeId);
  return { ...(routeId === newId ? { isNew: true } : { routeId }), ...(name !== undefined && { name }) };
}
