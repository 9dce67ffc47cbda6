import { z } from 'zod';
import type { Config } from '../../../../config/config.ts';
import { type AliasesOf, allowedChats, type Caller } from '../../../../core/access/caller.ts';
import { chatHash } from '../../../../core/chat-hash.ts';
import { canonicalChannelId } from '../../../../core/chat-id.ts';
import type { ChatPosition, ChatRow, ChatStore } from '../../../../core/ports/chat-store.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { MessageLog } from '../../../../core/ports/message-log.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import {
  accountIdField,
  changedResponse,
  chatField,
  dataResponse,
  isRowId,
  rowIdField,
  timeQuery,
  timeView,
} from '../fields.ts';
import { pageOf, pageQuery, pageResponse } from '../paging.ts';
import { HttpProblem, problemSchema } from '../problem.ts';
import { refuseOtherChat } from '../restrictions.ts';
import { anyMessageView } from './log-schemas.ts';
import { messagePage } from './message-pages.ts';

export interface ChatsApiDeps {
  chatStore: ChatStore;
  messageLog: MessageLog;
  aliasesOf: AliasesOf;
  config: Pick<Config, 'accountId'>;
  log: Logger;
}

const DEFAULT_PAGE = 50;

/** `1769860800310-17`: the chat after which the page begins. */
const positionField = z
  .string()
  .regex(/^\d{1,15}-[1-9]\d{0,18}$/, 'must be `next` of the page before')
  .transform((text): ChatPosition => {
    const [activeAtMs, id = ''] = text.split('-');
    return { activeAtMs: Number(activeAtMs), id };
  });

const listQuery = z.strictObject({
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  channelId: chatField.optional().describe('Only this chat: a phone number, a JID or a group id.'),
  paused: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('Only chats that are paused, or only those that are not.'),
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
    .describe('Only messages that contain this text, in upper or lower case.'),
  since: timeQuery.optional().describe('Only messages from this time on (received or queued).'),
  until: timeQuery.optional().describe('Only messages before this time.'),
  ...pageQuery(rowIdField, DEFAULT_PAGE),
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
  })
  .meta({ id: 'ChatPause', examples: [{ minutes: 30, reason: 'Maria answers by hand.' }] });

export const chatView = z
  .object({
    id: z.string().describe('Id of the stored chat: `chatId` of its messages.'),
    accountId: z.string(),
    channelId: z.string().describe('Address of the chat, as in routes and filters.'),
    isGroup: z.boolean(),
    phone: z.string().optional().describe('Number of the person.'),
    lid: z.string().optional().describe('LID of the person, a JID.'),
    name: z.string().optional().describe('The name that the person chose. Absent for a group.'),
    activeAt: timeView.describe('When a message was last worked on or sent. UTC, ISO 8601.'),
    lastReceivedAt: timeView.optional().describe('When the last message was received. UTC, ISO 8601.'),
    unanswered: z.int().describe('Messages whose turn has not ended.'),
    pause: z
      .object({
        since: timeView,
        until: timeView.optional().describe('Absent: until the chat is resumed.'),
        reason: z.string().optional(),
      })
      .optional()
      .describe('Present while the chat is paused: its messages get no answer.'),
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
        pause: { since: '2026-01-31T12:05:00.000Z', until: '2026-01-31T12:35:00.000Z' },
      },
    ],
  });

/** Chats with people and groups: `/api/chats`. */
export function chatsApi(deps: ChatsApiDeps): Endpoint[] {
  const { chatStore, messageLog, aliasesOf, config, log } = deps;
  const common = { tag: 'Chats' as const };
  const params = {
    id: 'Id of the chat, or its address: a JID, or a phone number with its country code and a leading `+` (of the account WA2AI_ACCOUNT_ID).',
  };
  const notFound = { description: 'No such chat.', schema: problemSchema };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats',
      operationId: 'listChats',
      scopes: ['messages:read'],
      summary: 'List chats, last active first',
      description: 'A key that is restricted to some chats gets those only.',
      query: listQuery,
      responses: { 200: { description: 'A page of chats.', schema: pageResponse(chatView) } },
      handle: async ({ query: { cursor, limit, paused, ...filter }, caller }) => {
        const { channelId, accountId = config.accountId } = filter;
        if (channelId !== undefined) await refuseOtherChat(caller, { accountId, channelId }, aliasesOf);
        const found = await chatStore.list({
          ...filter,
          chats: allowedChats(caller),
          isPaused: paused,
          after: cursor,
          limit: limit + 1,
        });
        const page = pageOf(found, limit, ({ activeAt, id }) => `${activeAt.getTime()}-${id}`);
        return { status: 200, object: channelId, json: page };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/chats/{id}',
      operationId: 'getChat',
      scopes: ['messages:read'],
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
      summary: 'List the messages of a chat, newest first',
      params,
      query: messagesQuery,
      responses: {
        200: { description: 'A page of messages.', schema: pageResponse(anyMessageView) },
        404: notFound,
      },
      handle: async ({ params, query, caller }) => {
        const { id: chatId } = await findChat(caller, params.id);
        return { status: 200, object: chatId, json: await messagePage(messageLog, { ...query, chatId }) };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/chats/{id}/pause',
      operationId: 'pauseChat',
      scopes: ['messages:send'],
      summary: 'Pause a chat, so that a person can answer',
      description:
        'Messages that come meanwhile are stored and get no answer (state `ignored`, reason `chat-paused`), also after the chat is resumed. An answer that an agent is working on is still sent. A second call replaces the pause.',
      params,
      body: pauseBody,
      isBodyOptional: true,
      responses: {
        200: { description: 'The paused chat.', schema: changedResponse(chatView) },
        404: notFound,
      },
      handle: async ({ params, body: { minutes, reason }, caller }) => {
        const { id } = await findChat(caller, params.id);
        const forMs = minutes === undefined ? undefined : minutes * 60_000;
        return changed('Chat paused.', 'chat paused', await chatStore.pause(id, { forMs, reason }));
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/chats/{id}/resume',
      operationId: 'resumeChat',
      scopes: ['messages:send'],
      summary: 'Resume a paused chat',
      description: 'The next message gets an answer. Has no effect on a chat that is not paused.',
      params,
      responses: { 200: { description: 'The chat.', schema: changedResponse(chatView) }, 404: notFound },
      handle: async ({ params, caller }) => {
        const { id } = await findChat(caller, params.id);
        return changed('Chat resumed.', 'chat resumed', await chatStore.resume(id));
      },
    }),
  ];

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
    if (isRowId(id)) return chatStore.get(id);
    const channelId = /[@+]/.test(id) ? canonicalChannelId(id) : undefined;
    if (channelId === undefined) return undefined;
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

function noSuchChat(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', 'There is no chat with this id or address.');
}
