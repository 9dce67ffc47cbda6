import { z } from 'zod';
import type { RestCalls } from '../../infra/operations/rest-calls.ts';
import { explanationView } from '../routes/explain-api.ts';
import { routeView, warningView } from '../routes/route-schemas.ts';
import { args, next, nextOf } from './chat-tools.ts';
import { type McpTool, READS, tool } from './tool.ts';

type RouteView = z.output<typeof routeView>;

const routeId = z
  .string()
  .min(1)
  .max(100)
  .describe('Id of the route, or the `channelId` that only this route has.');

/** The route table: which agent answers which chat. */
export function routeTools(rest: RestCalls): McpTool[] {
  return [
    tool({
      name: 'list_routes',
      title: 'List routes',
      description: 'Lists which agent answers which chat, oldest first. Secrets are masked.',
      ...rest.admissionOf('listRoutes'),
      input: z.strictObject({
        channel: args.channel.optional().describe('Only routes of this chat, or `*`.'),
        account_id: args.accountId,
        cursor: args.cursor,
        limit: args.limit,
      }),
      output: z.object({ routes: z.array(routeView), next }),
      annotations: READS,
      run: async ({ channel, account_id, ...query }, { caller }) => {
        const { json } = await rest.call('listRoutes', caller, {
          query: { ...query, channelId: channel, accountId: account_id },
        });
        return { data: { routes: json.data as RouteView[], ...nextOf(json) } };
      },
    }),
    tool({
      name: 'explain_route',
      title: 'Explain a route',
      description: 'Says which route a message would take and why, rule by rule. Sends and stores nothing.',
      ...rest.admissionOf('explainRoute'),
      input: z.strictObject({
        text: z.string().max(65_536).describe('Text of the message.'),
        from: args.channel.optional().describe('Who writes: a phone number with its country code, or a JID.'),
        channel: args.channel.optional().describe('The chat. Default: the 1:1 chat with `from`.'),
        account_id: args.accountId,
      }),
      output: explanationView,
      annotations: READS,
      run: async ({ text, from, channel, account_id }, { caller }) => {
        const body = { text, from, channelId: channel, accountId: account_id };
        const { json } = await rest.call('explainRoute', caller, { body });
        return { data: json.data as z.output<typeof explanationView> };
      },
    }),
    tool({
      name: 'set_route',
      title: 'Add or change a route',
      description:
        'Adds a route, or changes the given fields of the route `route_id`. A route decides which agent reads a chat and answers it. `warnings` names likely problems.',
      ...rest.admissionOf('createRoute'),
      input: z.strictObject({
        route_id: routeId.optional().describe('The route to change. Default: a new route is added.'),
        channel: args.channel
          .optional()
          .describe('The chat, or `*` for every chat without its own route. A new route needs it.'),
        agent_endpoint: z
          .string()
          .max(2_048)
          .optional()
          .describe('Base URL of the agent. A new route needs it, unless its kind needs none.'),
        account_id: args.accountId,
        environment: z.enum(['lab', 'prod']).optional(),
        regex_filter: z
          .string()
          .min(1)
          .max(1_000)
          .optional()
          .describe('The route is for texts that match it.'),
        priority: z.int().min(-1_000_000).max(1_000_000).optional(),
        enabled: z.boolean().optional(),
        name: z.string().max(200).optional(),
        config: z
          .record(z.string(), z.unknown())
          .optional()
          .describe(
            'Settings of the agent kind, as in POST /api/routes: {"adk": {"appName": "my_agent"}}. Of a known route: merged, null removes a field.',
          ),
      }),
      output: z.object({ route: routeView, warnings: z.array(warningView).optional() }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      run: async ({ route_id, channel, agent_endpoint, account_id, regex_filter, ...fields }, { caller }) => {
        const body = {
          ...fields,
          channelId: channel,
          agentEndpoint: agent_endpoint,
          accountId: account_id,
          regexFilter: regex_filter,
        };
        const { json, object } =
          route_id === undefined
            ? await rest.call('createRoute', caller, { body })
            : await rest.call('updateRoute', caller, { params: { id: route_id }, body });
        const warnings = json.warnings as Array<z.output<typeof warningView>> | undefined;
        return {
          data: { route: json.data as RouteView, ...(warnings && { warnings }) },
          ...(object && { object }),
        };
      },
    }),
    tool({
      name: 'delete_route',
      title: 'Delete a route',
      description: 'Deletes a route. Chats that only this route matched get no answer any more.',
      ...rest.admissionOf('deleteRoute'),
      input: z.strictObject({ route_id: routeId }),
      output: z.object({ route: routeView.describe('The route that is gone.') }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      run: async ({ route_id }, { caller }) => {
        const { json, object } = await rest.call('deleteRoute', caller, { params: { id: route_id } });
        return { data: { route: json.data as RouteView }, ...(object && { object }) };
      },
    }),
  ];
}
