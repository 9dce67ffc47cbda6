import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import { chatHash } from '../../core/chat-id.ts';
import { say } from '../../core/phrases.ts';
import type { ChatPosition, ChatQuery, ChatRow, ChatStore } from '../../core/ports/chat-store.ts';
import type {
  MessageLog,
  MessageQuery,
  ReceivedMessage,
  SentMessageRow,
} from '../../core/ports/message-log.ts';
import type { OutboxState } from '../../core/ports/outbox.ts';
import type { App } from '../../feature.ts';
import {
  allowedPart,
  asListed,
  type Endpoint,
  endpoint,
  refuseOtherChat,
  withoutOtherRoutes,
} from '../../infra/operations/endpoint.ts';
import { dataResponse, isRowId, pageOf, pageResponse, warningsField } from '../../infra/operations/fields.ts';
import {
  anyMessageView,
  exchangeView,
  logQuery,
  sentMessageView,
} from '../../infra/operations/log-schemas.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { idempotencyKeyOf } from '../../infra/operations/repeated-calls.ts';
import { refuseUnknownAccount } from '../accounts/account-view.ts';
import { bodyOfForm, fileOf, messageToSend, readMessageToSend } from './message-to-send.ts';

/** States of messages sent. */
const SENT_STATES = ['draft', 'queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead'] as const;

/** A search in all chats reads the messages of so many ids, then returns what it found. */
export const SEARCH_SPAN = 50_000n;

/** A search in one chat reads so many messages received and as many sent, then returns what it found. */
const SEARCH_ROWS = 20_000;

/** Which messages, as a request names them. */
export interface MessagePageQuery extends Omit<MessageQuery, 'before' | 'after'> {
  direction: 'incoming' | 'outgoing' | 'all';
  cursor?: string;
}

type AnyMessage = ReceivedMessage | SentMessageRow;

/**
 * A page of messages, newest first. A search for a text has no index: it reads a limited part of the messages and returns a
 * cursor with which it goes on, also when it found nothing.
 * @throws {StorageUnavailableError}
 */
export async function messagePage(messageLog: MessageLog, query: MessagePageQuery) {
  const { text, limit } = query;
  const span = text === undefined ? undefined : await searchSpan(messageLog, query);
  const page = pageOf(await listed(messageLog, { ...query, ...span }), limit, ({ id }) => id);
  if (page.next !== undefined || span?.after === undefined) return page;
  return { ...page, next: String(BigInt(span.after) + 1n) };
}

/** Which messages a search reads: those with a smaller id than `cursor` and a larger one than `after`. */
async function searchSpan(
  messageLog: MessageLog,
  { cursor, accountId, channelId, chatId }: MessagePageQuery,
): Promise<{ cursor?: string; after?: string }> {
  if (channelId !== undefined || chatId !== undefined) {
    const chat = { accountId, channelId, chatId, before: cursor };
    return { after: await messageLog.searchEnd(chat, SEARCH_ROWS) };
  }
  const start = cursor ?? String(BigInt((await messageLog.newestId()) ?? 0) + 1n);
  const after = BigInt(start) - SEARCH_SPAN;
  return { cursor: start, ...(after > 0n && { after: String(after) }) };
}

/** The entries of a page, and one more if there are more. */
async function listed(
  messageLog: MessageLog,
  { direction, cursor, state, routeId, from, limit, ...filter }: MessagePageQuery & { after?: string },
): Promise<AnyMessage[]> {
  const page = { ...filter, before: cursor, limit: limit + 1 };
  const received =
    direction === 'outgoing' ? [] : await messageLog.messages({ ...page, state, routeId, from });
  const sentState = sentStateOf(state);
  // Sender and route are known of messages received only.
  const isReceivedOnly = direction === 'incoming' || from !== undefined || routeId !== undefined;
  const sent =
    isReceivedOnly || sentState === 'none'
      ? []
      : await messageLog.sentMessages({ ...page, state: sentState });
  return [...received, ...sent].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1));
}

/** The state as a state of messages sent; `none` if they do not have it. */
function sentStateOf(state: string | undefined): OutboxState | undefined | 'none' {
  if (state === undefined) return undefined;
  return SENT_STATES.find((known) => known === state) ?? 'none';
}

/** A search for a text reads so many chats, then returns what it found. */
const SEARCH_CHATS = 20_000;

/** Where a page of chats goes on: after this chat. */
export type ChatCursor = ChatPosition & { needsYou: boolean };

/** Which chats, as a request names them. */
export interface ChatPageQuery extends Omit<ChatQuery, 'after' | 'upTo'> {
  /** `needs`: those with `needs` first. */
  order: 'active' | 'needs';
  cursor?: ChatCursor;
}

/**
 * A page of chats, last active first. A search for a text has no index: it reads a limited number of chats and returns a
 * cursor with which it goes on, also when it found nothing.
 * @throws {StorageUnavailableError}
 */
export async function chatPage(
  chatStore: Pick<ChatStore, 'list' | 'searchEnd'>,
  { order, cursor, ...query }: ChatPageQuery,
) {
  const { text, limit } = query;
  const isInTwo = order === 'needs' && query.needsYou === undefined;
  // Few chats wait: they are searched in one query.
  const first =
    isInTwo && (cursor?.needsYou ?? true)
      ? await chatStore.list({ ...query, needsYou: true, after: cursor, limit: limit + 1 })
      : [];
  const others = isInTwo
    ? { ...query, needsYou: false, after: cursor?.needsYou ? undefined : cursor }
    : { ...query, after: cursor };
  const end = text === undefined ? undefined : await chatStore.searchEnd(others, SEARCH_CHATS);
  const rest = limit + 1 - first.length;
  const found = rest > 0 ? await chatStore.list({ ...others, upTo: end, limit: rest }) : [];
  const { data: listed, ...page } = pageOf<ChatRow>([...first, ...found], limit, ({ activeAt, id, needs }) =>
    cursorOf({ activeAtMs: activeAt.getTime(), id, needsYou: isInTwo && needs !== undefined }),
  );
  // A chat that has stopped waiting between both is in both.
  const data = [...new Map(listed.map((chat) => [chat.id, chat])).values()];
  const next = page.next ?? (end && cursorOf({ ...end, needsYou: false }));
  return { success: true, data, count: data.length, ...(next !== undefined && { next }) };
}

/** `1769860800310-17`: a position of the list, as a page names it; `n1769860800310-17` among the chats that wait. */
function cursorOf({ activeAtMs, id, needsYou }: ChatCursor): string {
  return `${needsYou ? 'n' : ''}${activeAtMs}-${id}`;
}

const RECEIVED_STATES = ['received', 'answered', 'ignored', 'dead'] as const;

/** A file of 10 MB, and the other fields. */
const MAX_FORM_BYTES = 11 * 1024 * 1024;

const listQuery = z.strictObject({
  ...logQuery,
  direction: z
    .enum(['incoming', 'outgoing', 'all'])
    .default('incoming')
    .describe('Messages received, messages sent (replies and those of `POST /api/messages`), or both.'),
  state: z.enum([...RECEIVED_STATES, ...SENT_STATES.filter((state) => state !== 'dead')]).optional(),
  routeId: z.string().min(1).max(100).optional().describe('Only messages received that this route answered.'),
  text: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only messages that contain this text, in upper or lower case. Without `channelId` or `from`, a call searches a part of all messages: continue with `next` until there is none, also when `data` is empty. Without `channelId`, messages of chats that the owner has locked on the phone are left out.',
    ),
});

/** Messages received and sent, and sending: `/api/messages`. */
export function messagesApi(app: App): Endpoint[] {
  const { messageLog, accounts, prepareFile, policyOfChat, aliasesOf, config, clock, log } = app;
  const common = { tag: 'Messages' };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages',
      operationId: 'listMessages',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary: 'List messages, newest first',
      description:
        'Each message received has its replies. `from` and `routeId` match messages received only. A key that is restricted to some chats gets messages of those only.',
      query: listQuery,
      responses: { 200: { description: 'A page of messages.', schema: pageResponse(anyMessageView) } },
      handle: async ({ query: { trace, ...query }, caller }) => {
        const part = await allowedPart(caller, query, { aliasesOf, defaultAccount: config.accountId });
        const page = await messagePage(messageLog, { ...query, ...part });
        const data = page.data.map((row) => asListed(caller, row, trace));
        return { status: 200, object: query.channelId, json: { ...page, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages/{id}',
      operationId: 'getMessage',
      scopes: ['messages:read'],
      honours: RESTRICTIONS,
      summary:
        'Show a message received with its route choice and replies, or a message sent with its delivery state',
      params: { id: 'Id of a message, or of one that `POST /api/messages` returned.' },
      responses: {
        200: { description: 'The message.', schema: dataResponse(anyMessageView) },
        404: { description: 'No such message.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, caller }) => {
        const message = isRowId(id)
          ? ((await messageLog.message(id)) ?? (await messageLog.sentMessage(id)))
          : undefined;
        if (!message) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-message'));
        await refuseOtherChat(caller, message, aliasesOf);
        return { status: 200, json: { success: true, data: withoutOtherRoutes(caller, message) } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages/{id}/exchanges',
      operationId: 'listExchanges',
      isAudited: true,
      scopes: ['messages:read', 'routes:read'],
      // Not routes: a fallback route or a replay may have got some of the requests.
      honours: ['chats', 'accounts'],
      summary: 'Show what was sent to agents for a message received, and what came back',
      description:
        'The requests of its last five turns with their answers, oldest first; at most 12 of each turn. Values of headers, keys and tokens are `***`, files are left out, and each body ends after 8,192 characters. Empty: no request was made, `WA2AI_EXCHANGES` is `off`, or `WA2AI_RETENTION_EXCHANGES_DAYS` have passed. Needs `routes:read` too, because a request shows settings of the route, such as the instructions of a model.',
      params: { id: 'Id of a message received.' },
      responses: {
        200: {
          description: 'The exchanges.',
          schema: dataResponse(z.array(exchangeView)),
        },
        404: { description: 'No such message.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, caller }) => {
        const message = isRowId(id) ? await messageLog.message(id) : undefined;
        if (!message) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-received-message'));
        await refuseOtherChat(caller, message, aliasesOf);
        return { status: 200, json: { success: true, data: await messageLog.exchanges(id) } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/messages',
      operationId: 'sendMessage',
      scopes: ['messages:send'],
      honours: RESTRICTIONS,
      summary: 'Send a message to a chat, or react to, edit or delete one',
      description:
        'A text, a file, a location, contacts or a poll; or a reaction, an edit or a deletion of an earlier message. A text or a file may quote a message. A file of at most 10 MB is named by its URL, or is a part of a form (`multipart/form-data`) whose other parts are the fields; what it is follows from its bytes.',
      body: messageToSend,
      oldNames: { to: 'channelId' },
      form: { maxBytes: MAX_FORM_BYTES, read: bodyOfForm },
      headers: {
        'idempotency-key': 'Makes a repeat safe: the same key returns the first message and sends nothing.',
      },
      responses: {
        202: {
          description: 'The stored message. `GET /api/messages/{id}` shows its delivery state.',
          schema: dataResponse(sentMessageView).extend({ warnings: warningsField }),
        },
        409: {
          description: 'The Idempotency-Key was used for another chat or message.',
          schema: problemSchema,
        },
        422: {
          description:
            'WhatsApp has no account with this number, or the file cannot be loaded, is too large, or has another format than its kind needs. Nothing was stored.',
          schema: problemSchema,
        },
      },
      handle: async ({ body, header, caller }) => {
        const idempotencyKey = idempotencyKeyOf(header('idempotency-key'));
        const { accountId = config.accountId, channelId } = body;
        refuseUnknownAccount(accounts, accountId, config.accountId);
        await refuseOtherChat(caller, { accountId, channelId }, aliasesOf);
        const chat = new Set([channelId, ...(await aliasesOf(accountId, channelId))]);
        const message = await readMessageToSend(
          body,
          messageLog,
          (row) => row.accountId === accountId && chat.has(row.channelId),
          clock.now(),
        );
        const attached = fileOf(body);
        await app.refuseUnknownNumber({ accountId, to: channelId, idempotencyKey });
        const { outcome, row } = await app.sendMessage({
          accountId,
          to: channelId,
          ...message,
          ...(attached && { file: prepareFile(attached.kind, attached.wanted) }),
          idempotencyKey,
          ...(body.byHand && { byHand: { pauseMs: await pauseMsOf(accountId, channelId) } }),
        });
        if (outcome === 'conflict') {
          throw new HttpProblem(409, 'IDEMPOTENCY_CONFLICT', say('problem.idempotency-conflict'));
        }
        if (outcome === 'queued') {
          log.info(
            { messageId: row.id, accountId, chat: chatHash(row.chatId) },
            'message accepted for sending',
          );
        }
        return {
          status: 202,
          object: row.id,
          json: { success: true, data: { ...row, direction: 'outgoing', channelId } },
        };
      },
    }),
  ];

  /** How long a message that a person wrote by hand pauses its chat. */
  async function pauseMsOf(accountId: string, channelId: string): Promise<number> {
    const channelIds = [channelId, ...(await aliasesOf(accountId, channelId))];
    const { settings } = await policyOfChat({ accountId, channelIds }, '');
    return settings.takeover.minutes * 60_000;
  }
}
