import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Caller, RESTRICTIONS } from '../../core/access/caller.ts';
import { ANY_CHANNEL, canonicalRouteChannelId, chatHash } from '../../core/chat-id.ts';
import { decideAccess, resumeChat } from '../../core/messages/owner-commands.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import { type ChatRow, NEEDS } from '../../core/ports/chat-store.ts';
import { MAX_TAGS, tagField } from '../../core/routing/when-fields.ts';
import type { App } from '../../feature.ts';
import { maskedChatSettings } from '../../infra/agents/route-secrets.ts';
import {
  allowedPart,
  asListed,
  type Endpoint,
  endpoint,
  refuseOtherChat,
  refuseOtherRoute,
  withoutOtherRoutes,
} from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  changedResponse,
  claimQuery,
  dataResponse,
  isRowId,
  pageQuery,
  pageResponse,
  rowIdField,
  searchedChatField,
  timeQuery,
  timeView,
} from '../../infra/operations/fields.ts';
import { anyMessageView, traceQuery } from '../../infra/operations/log-schemas.ts';
import { HttpProblem, phraseField, problemSchema } from '../../infra/operations/problem.ts';
import { exportLines } from './chat-export.ts';
import { type ChatCursor, chatPage, messagePage } from './messages-api.ts';

const DEFAULT_PAGE = 50;

/** `1769860800310-17`, or `n1769860800310-17`: the chat after which the page begins. */
const positionField = z
  .string()
  .regex(/^n?\d{1,15}-[1-9]\d{0,18}$/, PHRASES['field.next'])
  .transform((text): ChatCursor => {
    const [activeAtMs = '', id = ''] = text.split('-');
    return { activeAtMs: Number(activeAtMs.replace('n', '')), id, needsYou: text.startsWith('n') };
  });

const listQuery = z.strictObject({
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  channelId: searchedChatField.optional().describe('Only this chat: a phone number, a JID or a group id.'),
  playground: claimQuery
    .optional()
    .describe('Only invented chats of the playground, or only the others. Default: both.'),
  paused: claimQuery.optional().describe('Only chats that are paused, or only those that are not.'),
  locked: claimQuery
    .optional()
    .describe('Only chats that the owner has locked on the phone, or only the others.'),
  access: z
    .enum(['pending', 'approved', 'refused'])
    .optional()
    .describe('Only chats that wait for the owner, or that the owner approved or refused.'),
  waiting: claimQuery
    .optional()
    .describe('Only chats of which a draft or a stranger waits for the owner, or only the others.'),
  asked: claimQuery
    .optional()
    .describe('Only chats in which a program waits for an answer of the person, or only the others.'),
  needsYou: claimQuery
    .optional()
    .describe('Only chats that wait for an operator (`needs`), or only the others.'),
  order: z
    .enum(['active', 'needs'])
    .default('active')
    .describe('Last active first; or, before the others, those that wait for an operator (`needs`).'),
  routeId: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Only chats whose last message that a route took was taken by this one.'),
  tag: tagField.optional().describe('Only chats with this tag.'),
  unanswered: claimQuery
    .optional()
    .describe('Only chats with messages whose turn has not ended, or only those without.'),
  failed: claimQuery.optional().describe('Only chats with open dead letters, or only those without.'),
  text: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'Only chats with this text in the name of the person or group, the number or a tag, in upper or lower case. 20,000 chats are searched at a time: continue with `next`, also when a page is empty.',
    ),
  ...pageQuery(positionField, DEFAULT_PAGE),
});

const messagesQuery = z.strictObject({
  direction: z
    .enum(['incoming', 'outgoing', 'all'])
    .default('all')
    .describe('Messages received, messages sent, or both.'),
  text: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only messages that contain this text, in upper or lower case. A part of the messages is searched at a time: continue with `next`, also when a page is empty.',
    ),
  since: timeQuery.optional().describe('Only messages from this time on (received or queued).'),
  until: timeQuery.optional().describe('Only messages before this time.'),
  trace: traceQuery,
  ...pageQuery(rowIdField, DEFAULT_PAGE),
});

const policyQuery = z.strictObject({
  text: z
    .string()
    .max(4096)
    .optional()
    .describe('The text of a message, where routes of the chat have a `regexFilter`. Default: empty.'),
});

const policyView = z
  .object({
    chatId: z.string(),
    route: z
      .object({ id: z.string(), name: z.string().optional(), channelId: z.string() })
      .optional()
      .describe('The route that takes the message. Absent when none does.'),
    reason: z.string().optional().describe('Why no route takes it.'),
    settings: z.looseObject({}).describe('The settings that apply, complete.'),
    origins: z
      .record(z.string(), z.enum(['route', 'default', 'built-in']))
      .describe('Where each value of `settings` comes from.'),
  })
  .meta({
    id: 'ChatPolicy',
    examples: [
      {
        chatId: '17',
        route: { id: '6f1c1f0e-8f5c-4b8e-9d3a-2f6f1f4f9a10', name: 'everybody', channelId: '*' },
        settings: { reply: { format: 'whatsapp', maxChars: 2000 }, egressFilter: 'on' },
        origins: { 'reply.format': 'built-in', 'reply.maxChars': 'route', egressFilter: 'default' },
      },
    ],
  });

const pauseBody = z
  .strictObject({
    minutes: z
      .int()
      .min(1)
      .max(525_600)
      .optional()
      .describe('How long, 1 to 525600. Default: until the chat is resumed.'),
    reason: z.string().min(1).max(200).optional().describe('Why, for other operators.'),
    mode: z
      .enum(['listen-only', 'approve'])
      .optional()
      .describe(
        '`listen-only`: messages are stored and get no answer; `approve`: each answer of the agent waits for the owner (`/api/drafts`). Default: listen-only.',
      ),
  })
  .meta({ id: 'ChatPause', examples: [{ minutes: 30, reason: 'Maria answers by hand.' }] });

const tagsBody = z
  .strictObject({
    tags: z
      .array(tagField)
      .max(MAX_TAGS)
      .transform((tags) => [...new Set(tags)].sort())
      .describe('All tags of the chat, stored in lower case. An empty list removes them.'),
  })
  .meta({ id: 'ChatTags', examples: [{ tags: ['vip', 'madrid'] }] });

const notesBody = z
  .strictObject({
    notes: z.string().trim().max(2_000).describe('An empty text removes them.'),
  })
  .meta({ id: 'ChatNotes', examples: [{ notes: 'Prefers to be called after six.' }] });

const resumeBody = z
  .strictObject({
    answerMissed: z
      .boolean()
      .optional()
      .describe('Answers messages that got no answer because of a pause. Default: false.'),
  })
  .meta({ id: 'ChatResumption', examples: [{ answerMissed: true }] });

export const chatView = z
  .object({
    id: z.string().describe('Id of the stored chat: `chatId` of its messages.'),
    accountId: z.string(),
    channelId: z.string().describe('Address of the chat, as in routes and filters.'),
    isGroup: z.boolean(),
    phone: z.string().optional().describe('Number of the person.'),
    lid: z.string().optional().describe('LID of the person, a JID.'),
    username: z.string().optional().describe('User name of the person on WhatsApp, without `@`.'),
    name: z
      .string()
      .optional()
      .describe('The name that the person chose, else `@` and the user name, or the name of the group.'),
    activeAt: timeView.describe('When a message was last worked on or sent. UTC, ISO 8601.'),
    lastReceivedAt: timeView.optional().describe('When the last message was received. UTC, ISO 8601.'),
    unanswered: z.int().describe('Messages whose turn has not ended.'),
    failed: z.int().describe('Open dead letters of its messages and replies.'),
    needs: z
      .array(z.enum(NEEDS))
      .optional()
      .describe(
        'Why the chat waits for an operator. `draft`: an answer waits for approval; `stranger`: the chat itself does; `question`: a program asked the person, who was reminded and has not answered; `failed`: dead letters are open; `unanswered`: a message has waited for its answer for five minutes, or came during a pause and nobody has answered since. Absent: it does not wait.',
      ),
    lastMessage: z
      .object({
        direction: z
          .enum(['incoming', 'outgoing'])
          .describe("`outgoing`: sent by wa2ai, or written on the owner's phone."),
        text: z.string().describe('Its first 200 characters; empty for a locked chat.'),
        kind: z.string().describe('`text`, the kind of its file, or what else it is.'),
        at: timeView.describe('When it was received or queued. UTC, ISO 8601.'),
        state: z.string().describe('As in the list of messages.'),
      })
      .optional()
      .describe('The newest message. Absent when there is none.'),
    pause: z
      .object({
        mode: z
          .enum(['listen-only', 'approve', 'auto-reply-loop'])
          .describe('`auto-reply-loop`: wa2ai stopped two programs; a message that a person types ends it.'),
        since: timeView,
        until: timeView.optional().describe('Absent: until the chat is resumed.'),
        reason: z.string().optional(),
        phrase: phraseField,
      })
      .optional()
      .describe(
        'Present while the chat is paused: its messages get no answer, or one that the owner approves.',
      ),
    isLocked: z
      .literal(true)
      .optional()
      .describe('The owner has locked the chat on the phone: its words are shown in the chat only.'),
    access: z
      .enum(['pending', 'approved', 'refused'])
      .optional()
      .describe(
        'What the owner decided about the chat. Absent when the owner was not asked, or not in the last 7 days.',
      ),
    question: z
      .object({
        askedAt: timeView,
        remindAt: timeView.describe('When the person is reminded.'),
        until: timeView.describe('When the question closes without an answer.'),
      })
      .optional()
      .describe('Present while a program waits for an answer of the person.'),
    tags: z
      .array(z.string())
      .optional()
      .describe('Words by which operators group chats and choose routes. Absent: none.'),
    notes: z.string().optional().describe('What operators wrote about the chat. Absent: nothing.'),
  })
  .meta({
    id: 'Chat',
    examples: [
      {
        id: '17',
        accountId: 'default',
        channelId: '5493777239922',
        isGroup: false,
        phone: '5493777239922',
        lid: '81234567890123@lid',
        name: 'Ana',
        activeAt: '2026-01-31T12:00:01.204Z',
        lastReceivedAt: '2026-01-31T12:00:00.310Z',
        unanswered: 0,
        failed: 0,
        lastMessage: {
          direction: 'outgoing',
          text: 'It left our house this morning.',
          kind: 'text',
          at: '2026-01-31T12:00:01.204Z',
          state: 'read',
        },
        pause: { mode: 'listen-only', since: '2026-01-31T12:05:00.000Z', until: '2026-01-31T12:35:00.000Z' },
        tags: ['vip'],
      },
    ],
  });

/** Chats with people and groups: `/api/chats`. */
export function chatsApi(app: App): Endpoint[] {
  const { chatStore, messageLog, policyOfChat, aliasesOf, config, log } = app;
  const common = { tag: 'Chats' };
  const params = {
    id: 'Id of the chat, or its address: a JID, or a phone number with its country code and a leading `+` (of the account WA2AI_ACCOUNT_ID).',
  };
  const notFound = { description: 'No such chat.', schema: problemSchema };
  // The rest changes with each message.
  const etag = ['pause', 'access', 'tags', 'notes'] as const;

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats',
      operationId: 'listChats',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'List chats, last active first',
      description: 'A key that is restricted to some chats gets those only.',
      query: listQuery,
      responses: { 200: { description: 'A page of chats.', schema: pageResponse(chatView) } },
      handle: async ({
        query: { playground, paused, locked, waiting, asked, unanswered, failed, ...query },
        caller,
      }) => {
        const part = await allowedPart(caller, query, { aliasesOf, defaultAccount: config.accountId });
        if (query.routeId !== undefined) refuseOtherRoute(caller, query.routeId);
        const page = await chatPage(chatStore, {
          ...query,
          ...part,
          isPlayground: playground,
          isPaused: paused,
          isLocked: locked,
          isWaiting: waiting,
          isAsked: asked,
          hasUnanswered: unanswered,
          hasFailed: failed,
        });
        return { status: 200, object: query.channelId, json: page };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats/{id}',
      operationId: 'getChat',
      etag,
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'Show a chat',
      params,
      responses: { 200: { description: 'The chat.', schema: dataResponse(chatView) }, 404: notFound },
      handle: async ({ params, caller }) => {
        const data = await findChat(caller, params.id);
        return { status: 200, object: data.id, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats/{id}/messages',
      operationId: 'listChatMessages',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'List the messages of a chat, newest first',
      params,
      query: messagesQuery,
      responses: {
        200: { description: 'A page of messages.', schema: pageResponse(anyMessageView) },
        404: notFound,
      },
      handle: async ({ params, query: { trace, ...query }, caller }) => {
        const { id: chatId } = await findChat(caller, params.id);
        const page = await messagePage(messageLog, { ...query, chatId });
        const data = page.data.map((row) => asListed(caller, row, trace));
        return { status: 200, object: chatId, json: { ...page, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats/{id}/export',
      operationId: 'exportChat',
      isAudited: true,
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'Export a chat with all its messages, oldest first',
      description:
        'JSON lines: the first one is the chat, each other one a message received or sent, as `GET /api/chats/{id}/messages` has it, without `replies`: they follow as messages sent. `type` is `chat` or `message`. Files are not part of it. A response that ends early has no line with the type `end`.',
      params,
      responses: {
        200: { description: 'One JSON object per line.', contentType: 'application/x-ndjson' },
        404: notFound,
      },
      handle: async ({ params, caller, signal }) => {
        const chat = await findChat(caller, params.id);
        const lines = Readable.from(
          exportLines(messageLog, chat, (row) => withoutOtherRoutes(caller, row)),
          { highWaterMark: 1 },
        );
        return {
          status: 200,
          object: chat.id,
          stream: (response) => {
            response.status(200).attachment(`chat-${chat.id}.jsonl`).type('application/x-ndjson');
            // A reader that has left, or a database that does not answer: the response ends without its last line.
            pipeline(lines, response, { signal }).catch(() => response.destroy());
          },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats/{id}/policy',
      operationId: 'getChatPolicy',
      isAudited: true,
      scopes: ['messages:read', 'routes:read'],
      honours: RESTRICTIONS,
      summary: 'Show how wa2ai converses in a chat, and where each setting comes from',
      params,
      query: policyQuery,
      responses: { 200: { description: 'The settings.', schema: dataResponse(policyView) }, 404: notFound },
      handle: async ({ params, query: { text = '' }, caller }) => {
        const chat = await findChat(caller, params.id);
        const { accountId, id: chatId } = chat;
        const policy = await policyOfChat({ accountId, channelIds: addressesOf(chat) }, text);
        if (policy.route) refuseOtherRoute(caller, policy.route.id);
        const data = { chatId, ...policy, settings: { ...maskedChatSettings(policy.settings) } };
        return { status: 200, object: chatId, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/chats/{id}/pause',
      operationId: 'pauseChat',
      etag,
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Pause a chat, so that a person can answer',
      description:
        'Messages that come meanwhile are stored and get no answer (state `ignored`, reason `chat-paused`), also after the chat is resumed; the agent then gets them as context. With the mode `approve` the agent answers, and its answers wait for the owner. An answer that an agent is working on is still sent. A second call replaces the pause.',
      params,
      body: pauseBody,
      isBodyOptional: true,
      responses: {
        200: { description: 'The paused chat.', schema: changedResponse(chatView) },
        404: notFound,
      },
      handle: async ({ params, body: { minutes, reason, mode }, caller, ifMatch }) => {
        const { id } = await findChat(caller, params.id);
        const forMs = minutes === undefined ? undefined : minutes * 60_000;
        const paused = await chatStore.pause(id, { forMs, reason, mode }, ifMatch);
        return changed('Chat paused.', 'chat paused', paused);
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/chats/{id}/resume',
      operationId: 'resumeChat',
      etag,
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Resume a paused chat',
      description:
        'The next message gets an answer. With `answerMissed`, messages of the last 7 days that got none because of a pause or an auto-reply loop are answered first, in their order.',
      params,
      body: resumeBody,
      isBodyOptional: true,
      responses: { 200: { description: 'The chat.', schema: changedResponse(chatView) }, 404: notFound },
      handle: async ({ params, body: { answerMissed = false }, caller, ifMatch }) => {
        const { id } = await findChat(caller, params.id);
        return changed('Chat resumed.', 'chat resumed', await resumeChat(app, id, answerMissed, ifMatch));
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      path: '/api/chats/{id}/tags',
      operationId: 'setChatTags',
      etag,
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Replace the tags of a chat',
      description:
        'Routes can ask for them (`when.tags`). A change applies from the next message on, on all nodes.',
      params,
      body: tagsBody,
      responses: { 200: { description: 'The chat.', schema: changedResponse(chatView) }, 404: notFound },
      handle: async ({ params, body: { tags }, caller, ifMatch }) => {
        const { id } = await findChat(caller, params.id);
        return changed(
          'Tags of the chat stored.',
          'tags of chat changed',
          await chatStore.label(id, { tags }, ifMatch),
        );
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      path: '/api/chats/{id}/notes',
      operationId: 'setChatNotes',
      etag,
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Replace the notes about a chat',
      description: 'For operators: no agent and no person in the chat gets them.',
      params,
      body: notesBody,
      responses: { 200: { description: 'The chat.', schema: changedResponse(chatView) }, 404: notFound },
      handle: async ({ params, body: { notes }, caller, ifMatch }) => {
        const { id } = await findChat(caller, params.id);
        return changed(
          'Notes about the chat stored.',
          'notes about chat changed',
          await chatStore.label(id, { notes }, ifMatch),
        );
      },
    }),
    ...accessEndpoints(),
  ];

  /** `approve` and `refuse`. */
  function accessEndpoints(): Endpoint[] {
    const verbs = [
      {
        verb: 'approve',
        access: 'approved',
        summary: 'Approve a chat that waits for the owner',
        description:
          'Messages of the last 7 days that waited are answered, in their order, as are later ones. See `access` of the conversation settings.',
      },
      {
        verb: 'refuse',
        access: 'refused',
        summary: 'Refuse a chat',
        description: 'Where the settings ask for approval, its messages get no answer until it is approved.',
      },
    ] as const;
    return verbs.map(({ verb, access, ...texts }) =>
      endpoint({
        ...common,
        ...texts,
        method: 'post',
        path: `/api/chats/{id}/${verb}`,
        operationId: `${verb}Chat`,
        etag,
        scopes: ['messages:send'],
        honours: RESTRICTIONS,
        params,
        responses: { 200: { description: 'The chat.', schema: changedResponse(chatView) }, 404: notFound },
        handle: async ({ params, caller, ifMatch }) => {
          const { id } = await findChat(caller, params.id);
          return changed(`Chat ${access}.`, `chat ${access}`, await decideAccess(app, id, access, ifMatch));
        },
      }),
    );
  }

  /**
   * The chat with this id or address.
   * @throws {HttpProblem} 404 none, 403 not for this caller
   */
  async function findChat(caller: Caller, id = ''): Promise<ChatRow> {
    const chat = await chatNamed(id);
    if (!chat) throw noSuchChat();
    await refuseOtherChat(caller, chat, aliasesOf);
    return chat;
  }

  async function chatNamed(id: string): Promise<ChatRow | undefined> {
    const row = isRowId(id) ? await chatStore.get(id) : undefined;
    // Digits are the id of a row, or the number of a person without its `+`.
    const channelId = row ? undefined : canonicalRouteChannelId(id);
    if (channelId === undefined || channelId === ANY_CHANNEL) return row;
    const [chat] = await chatStore.list({ accountId: config.accountId, channelId, limit: 1 });
    return chat;
  }

  function changed(message: string, event: string, data: ChatRow | undefined) {
    // Merged into another chat meanwhile.
    if (!data) throw noSuchChat();
    log.info({ accountId: data.accountId, chat: chatHash(data.id), until: data.pause?.until }, event);
    return { status: 200, object: data.id, json: { success: true, message, data } };
  }
}

/** Canonical channelIds of a chat, preferred first. */
function addressesOf({ channelId, lid }: ChatRow): string[] {
  return lid === undefined || lid === channelId ? [channelId] : [channelId, lid];
}

function noSuchChat(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-chat'));
}
