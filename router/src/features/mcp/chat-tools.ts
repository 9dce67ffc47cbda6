import { z } from 'zod';
import { messageView, sentMessageView } from '../../infra/operations/log-schemas.ts';
import type { RestCalls } from '../../infra/operations/server.ts';
import { accountView } from '../accounts/account-view.ts';
import { chatView } from '../chats/chats-api.ts';
import { idempotencyKey } from '../chats/messages-api.ts';
import { explanationView } from '../routes/explain-api.ts';
import { routeView, warningView } from '../routes/route-schemas.ts';
import { type McpTool, READS, READS_CHATS, tool } from './call-tool.ts';

/** Arguments that several tools share. */
export const args = {
  accountId: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('The WhatsApp account. Default: the own account of the service, or all accounts in a list.'),
  chat: z
    .string()
    .min(1)
    .max(100)
    .describe(
      'The chat: its `id` from list_chats, a phone number with a leading + and country code, or a JID.',
    ),
  channel: z
    .string()
    .min(1)
    .max(100)
    .describe('The chat: a phone number with its country code, a JID, or a group id.'),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before.'),
  limit: z.int().min(1).max(100).default(20).describe('Maximum number of entries, 1 to 100.'),
  since: z.string().max(40).optional().describe('Only entries from this time on: ISO 8601 with time zone.'),
  until: z.string().max(40).optional().describe('Only entries before this time: ISO 8601 with time zone.'),
  direction: z.enum(['incoming', 'outgoing', 'all']).default('all'),
  idempotencyKey: idempotencyKey
    .optional()
    .describe(
      'Makes a repeat safe: the same key returns the first one and sends nothing. Use one for each message.',
    ),
};

export const next = z
  .string()
  .optional()
  .describe('Send it as `cursor` to get the next page. Absent on the last page.');

/** A message without what only operators need. */
const received = messageView.omit({ trace: true, replies: true, waMessageId: true, agentMs: true });
const sent = sentMessageView.omit({ waMessageId: true });

/** A message received or sent, as the tools show it. */
const shortMessage = z.discriminatedUnion('direction', [
  received.meta({ id: 'McpReceivedMessage' }),
  sent.meta({ id: 'McpSentMessage' }),
]);

export const receivedMessage = received;

/** A message as JSON → as the tools show it. */
export function shortMessageOf(message: unknown): z.output<typeof shortMessage> {
  const {
    trace: _trace,
    replies: _replies,
    waMessageId: _id,
    agentMs: _ms,
    ...rest
  } = message as Record<string, unknown>;
  return rest as z.output<typeof shortMessage>;
}

/** `next` of a page, if it has one. */
export function nextOf({ next: cursor }: Record<string, unknown>): { next?: string } {
  return typeof cursor === 'string' ? { next: cursor } : {};
}

/** Accounts, chats and their messages. */
export function chatTools(rest: RestCalls): McpTool[] {
  const messages = z.object({ messages: z.array(shortMessage), next });
  const messagesOf = (json: Record<string, unknown>) => ({
    messages: (json.data as unknown[]).map(shortMessageOf),
    ...nextOf(json),
  });

  return [
    tool({
      name: 'list_accounts',
      title: 'List WhatsApp accounts',
      description:
        'Lists the WhatsApp accounts of this service with their state and what a person should do now.',
      ...rest.admissionOf('listAccounts'),
      input: z.strictObject({}),
      output: z.object({ accounts: z.array(accountView) }),
      annotations: READS,
      run: async (_input, { caller }) => {
        const { json } = await rest.call('listAccounts', caller);
        return { data: { accounts: json.data as Array<z.output<typeof accountView>> } };
      },
    }),
    tool({
      name: 'list_chats',
      title: 'List chats',
      description:
        'Lists chats with people and groups, last active first: name, address, unanswered messages, pause. Use `id` of a chat as `chat` of the other tools.',
      ...rest.admissionOf('listChats'),
      input: z.strictObject({
        account_id: args.accountId,
        channel: args.channel
          .optional()
          .describe('Only this chat: a phone number with its country code, a JID or a group id.'),
        paused: z.boolean().optional().describe('Only chats that are paused, or only those that are not.'),
        cursor: args.cursor,
        limit: args.limit,
      }),
      output: z.object({ chats: z.array(chatView), next }),
      annotations: READS_CHATS,
      untrusted: 'people',
      run: async ({ account_id, channel, ...query }, { caller }) => {
        const { json, object } = await rest.call('listChats', caller, {
          query: { ...query, accountId: account_id, channelId: channel },
        });
        const chats = json.data as Array<z.output<typeof chatView>>;
        return { data: { chats, ...nextOf(json) }, ...(object && { object }) };
      },
    }),
    tool({
      name: 'get_chat_messages',
      title: 'Read a chat',
      description: 'Reads the messages of one chat in both directions, newest first.',
      ...rest.admissionOf('listChatMessages'),
      input: z.strictObject({
        chat: args.chat,
        direction: args.direction,
        since: args.since,
        until: args.until,
        cursor: args.cursor,
        limit: args.limit,
      }),
      output: messages,
      annotations: READS_CHATS,
      untrusted: 'people',
      run: async ({ chat, ...query }, { caller }) => {
        const { json, object } = await rest.call('listChatMessages', caller, { params: { id: chat }, query });
        return { data: messagesOf(json), ...(object && { object }) };
      },
    }),
    tool({
      name: 'search_messages',
      title: 'Search messages',
      description:
        'Finds messages that contain a text, in upper or lower case, newest first. It searches a part of the messages at a time: continue with `next`, also when nothing was found.',
      ...rest.admissionOf('listMessages'),
      input: z.strictObject({
        text: z.string().min(1).max(200).describe('What the messages contain.'),
        channel: args.channel
          .optional()
          .describe('Only this chat: a phone number with its country code, a JID or a group id.'),
        from: z
          .string()
          .min(1)
          .max(100)
          .optional()
          .describe(
            'Only messages of this person, in any chat: a phone number with its country code, or a JID.',
          ),
        account_id: args.accountId,
        direction: args.direction,
        since: args.since,
        until: args.until,
        cursor: args.cursor,
        limit: args.limit,
      }),
      output: messages,
      annotations: READS_CHATS,
      untrusted: 'people',
      run: async ({ account_id, channel, ...query }, { caller }) => {
        const { json, object } = await rest.call('listMessages', caller, {
          query: { ...query, accountId: account_id, channelId: channel },
        });
        return { data: messagesOf(json), ...(object && { object }) };
      },
    }),
    ...(['pause', 'resume'] as const).map((verb) => pauseTool(rest, verb)),
  ];
}

function pauseTool(rest: RestCalls, verb: 'pause' | 'resume'): McpTool {
  const operation = verb === 'pause' ? 'pauseChat' : 'resumeChat';
  const fields = {
    chat: args.chat,
    minutes: z.int().min(1).max(525_600).optional().describe('How long. Default: until the chat is resumed.'),
    reason: z.string().min(1).max(200).optional().describe('Why, for other operators.'),
  };
  return tool({
    name: `${verb}_chat`,
    title: verb === 'pause' ? 'Pause a chat' : 'Resume a chat',
    description:
      verb === 'pause'
        ? 'Pauses a chat, so that a person can answer: its messages are stored and get no answer until it is resumed.'
        : 'Resumes a paused chat: the next message gets an answer.',
    ...rest.admissionOf(operation),
    input: verb === 'pause' ? z.strictObject(fields) : z.strictObject({ chat: fields.chat }),
    output: z.object({ chat: chatView }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    untrusted: 'people',
    run: async ({ chat, ...body }, { caller }) => {
      const { json, object } = await rest.call(operation, caller, { params: { id: chat }, body });
      return { data: { chat: json.data as z.output<typeof chatView> }, ...(object && { object }) };
    },
  });
}

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
