import { z } from 'zod';
import { warningView } from '../../infra/operations/fields.ts';
import { messageView, sentMessageView } from '../../infra/operations/log-schemas.ts';
import { idempotencyKey } from '../../infra/operations/repeated-calls.ts';
import type { RestCalls } from '../../infra/operations/server.ts';
import { accountView } from '../accounts/account-view.ts';
import { chatView } from '../chats/chats-api.ts';
import { explanationView } from '../routes/explain-api.ts';
import { routeView } from '../routes/route-schemas.ts';
import { inNamesOfRest, type McpTool, READS, READS_CHATS, tool } from './call-tool.ts';

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

/** What a model reads about an operation of the REST API, and how its result is named. */
interface OperationTool
  extends Pick<McpTool, 'name' | 'title' | 'description' | 'annotations' | 'untrusted'> {
  /** Arguments: the fields of the operation as tools call them. */
  input: z.ZodRawShape;
  /** The argument that is the id in the path. */
  id?: string;
  /** The name of `data` in the result, and its schema, which removes what it does not have; absent: the result is `data` itself. */
  result: Record<string, z.ZodType> | z.ZodObject;
}

/** A tool that is one operation under another name, with its checks. */
export function operationTool(rest: RestCalls, operationId: string, definition: OperationTool): McpTool {
  const { id: idName = '', result, input, ...about } = definition;
  const [name = '', item] = result instanceof z.ZodObject ? [] : (Object.entries(result)[0] ?? []);
  return tool({
    ...about,
    ...rest.admissionOf(operationId),
    input: z.strictObject(input),
    output: result instanceof z.ZodObject ? result : z.object({ ...result, ...(input.cursor && { next }) }),
    run: async ({ [idName]: id, ...given }: Record<string, unknown>, { caller }) => {
      const { json, object } = await rest.call(operationId, caller, {
        ...(id !== undefined && { params: { id: String(id) } }),
        [rest.partOf(operationId)]: inNamesOfRest(given),
      });
      const data = item ? { [name]: item.parse(json.data), ...nextOf(json) } : (json.data as object);
      return { data, ...(object !== undefined && { object }) };
    },
  });
}

/** Accounts, chats and their messages. */
export function chatTools(rest: RestCalls): McpTool[] {
  const operation = (operationId: string, definition: OperationTool) =>
    operationTool(rest, operationId, definition);
  const messages = { messages: z.array(shortMessage) };
  const oneChat = args.channel
    .optional()
    .describe('Only this chat: a phone number with its country code, a JID or a group id.');
  const period = { direction: args.direction, since: args.since, until: args.until };
  const page = { cursor: args.cursor, limit: args.limit };
  const changesChat = {
    id: 'chat',
    result: { chat: chatView },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    untrusted: 'people',
  } as const;
  return [
    operation('listAccounts', {
      name: 'list_accounts',
      title: 'List WhatsApp accounts',
      description:
        'Lists the WhatsApp accounts of this service with their state and what a person should do now.',
      input: {},
      result: { accounts: z.array(accountView) },
      annotations: READS,
    }),
    operation('listChats', {
      name: 'list_chats',
      title: 'List chats',
      description:
        'Lists chats with people and groups, last active first: name, address, unanswered messages, pause. Use `id` of a chat as `chat` of the other tools.',
      input: {
        account_id: args.accountId,
        channel: oneChat,
        paused: z.boolean().optional().describe('Only chats that are paused, or only those that are not.'),
        ...page,
      },
      result: { chats: z.array(chatView) },
      annotations: READS_CHATS,
      untrusted: 'people',
    }),
    operation('listChatMessages', {
      name: 'get_chat_messages',
      title: 'Read a chat',
      description: 'Reads the messages of one chat in both directions, newest first.',
      input: { chat: args.chat, ...period, ...page },
      id: 'chat',
      result: messages,
      annotations: READS_CHATS,
      untrusted: 'people',
    }),
    operation('listMessages', {
      name: 'search_messages',
      title: 'Search messages',
      description:
        'Finds messages that contain a text, in upper or lower case, newest first. It searches a part of the messages at a time: continue with `next`, also when nothing was found.',
      input: {
        text: z.string().min(1).max(200).describe('What the messages contain.'),
        channel: oneChat,
        from: z
          .string()
          .min(1)
          .max(100)
          .optional()
          .describe(
            'Only messages of this person, in any chat: a phone number with its country code, or a JID.',
          ),
        account_id: args.accountId,
        ...period,
        ...page,
      },
      result: messages,
      annotations: READS_CHATS,
      untrusted: 'people',
    }),
    operation('pauseChat', {
      ...changesChat,
      name: 'pause_chat',
      title: 'Pause a chat',
      description:
        'Pauses a chat, so that a person can answer: its messages are stored and get no answer until it is resumed.',
      input: {
        chat: args.chat,
        minutes: z
          .int()
          .min(1)
          .max(525_600)
          .optional()
          .describe('How long. Default: until the chat is resumed.'),
        reason: z.string().min(1).max(200).optional().describe('Why, for other operators.'),
      },
    }),
    operation('resumeChat', {
      ...changesChat,
      name: 'resume_chat',
      title: 'Resume a chat',
      description: 'Resumes a paused chat: the next message gets an answer.',
      input: { chat: args.chat },
    }),
  ];
}

const routeId = z
  .string()
  .min(1)
  .max(100)
  .describe('Id of the route, or the `channelId` that only this route has.');

/** The route table: which agent answers which chat. */
export function routeTools(rest: RestCalls): McpTool[] {
  const operation = (operationId: string, definition: OperationTool) =>
    operationTool(rest, operationId, definition);
  return [
    operation('listRoutes', {
      name: 'list_routes',
      title: 'List routes',
      description: 'Lists which agent answers which chat, oldest first. Secrets are masked.',
      input: {
        channel: args.channel.optional().describe('Only routes of this chat, or `*`.'),
        account_id: args.accountId,
        cursor: args.cursor,
        limit: args.limit,
      },
      result: { routes: z.array(routeView) },
      annotations: READS,
    }),
    operation('explainRoute', {
      name: 'explain_route',
      title: 'Explain a route',
      description: 'Says which route a message would take and why, rule by rule. Sends and stores nothing.',
      input: {
        text: z.string().max(65_536).describe('Text of the message.'),
        from: args.channel.optional().describe('Who writes: a phone number with its country code, or a JID.'),
        channel: args.channel.optional().describe('The chat. Default: the 1:1 chat with `from`.'),
        account_id: args.accountId,
      },
      result: explanationView,
      annotations: READS,
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
      run: async ({ route_id, ...fields }, { caller }) => {
        const body = inNamesOfRest(fields);
        const { json, object } =
          route_id === undefined
            ? await rest.call('createRoute', caller, { body })
            : await rest.call('updateRoute', caller, { params: { id: route_id }, body });
        const warnings = json.warnings as Array<z.output<typeof warningView>> | undefined;
        return {
          data: { route: json.data as z.output<typeof routeView>, ...(warnings && { warnings }) },
          ...(object && { object }),
        };
      },
    }),
    operation('deleteRoute', {
      name: 'delete_route',
      title: 'Delete a route',
      description: 'Deletes a route. Chats that only this route matched get no answer any more.',
      input: { route_id: routeId },
      id: 'route_id',
      result: { route: routeView.describe('The route that is gone.') },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    }),
  ];
}
