import { z } from 'zod';
import type { Config } from '../../../../config/config.ts';
import { type AliasesOf, allowedChats } from '../../../../core/access/caller.ts';
import { chatHash } from '../../../../core/chat-hash.ts';
import type { SendMessageInput } from '../../../../core/delivery/send-message.ts';
import type { AccountControl } from '../../../../core/ports/account-control.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { MessageLog } from '../../../../core/ports/message-log.ts';
import type { OutboxRow } from '../../../../core/ports/outbox.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { accountIdField, chatField, dataResponse, isRowId } from '../fields.ts';
import { pageResponse } from '../paging.ts';
import { HttpProblem, problemSchema } from '../problem.ts';
import { refuseOtherChat } from '../restrictions.ts';
import { validate } from '../validate.ts';
import { refuseUnknownAccount } from './account-view.ts';
import { anyMessageView, logQuery, sentMessageView } from './log-schemas.ts';
import { messagePage, SENT_STATES } from './message-pages.ts';

export interface MessagesApiDeps {
  messageLog: MessageLog;
  accounts: AccountControl;
  /** Stores a message to send; the same idempotencyKey returns the first row. */
  sendMessage(input: SendMessageInput): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  aliasesOf: AliasesOf;
  config: Pick<Config, 'accountId'>;
  log: Logger;
}

const RECEIVED_STATES = ['received', 'answered', 'ignored', 'dead'] as const;

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
      'Only messages that contain this text, in upper or lower case. Without `channelId` or `from`, a call searches a part of all messages: continue with `next` until there is none, also when `data` is empty.',
    ),
});

const sendBody = z
  .strictObject({
    accountId: accountIdField.optional(),
    to: chatField.describe('The chat: a phone number with country code, a JID or a group id.'),
    text: z
      .string()
      .max(65_536)
      .refine((text) => text.trim() !== '', 'must not be blank'),
  })
  .meta({
    id: 'MessageToSend',
    examples: [{ to: '+54 9 3777 239922', text: 'Your order is on its way.' }],
  });

export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters without spaces');

const sendHeaders = z.object({ 'idempotency-key': idempotencyKey.optional() });

/** Messages received and sent, and sending: `/api/messages`. */
export function messagesApi(deps: MessagesApiDeps): Endpoint[] {
  const { messageLog, accounts, sendMessage, aliasesOf, config, log } = deps;
  const common = { tag: 'Messages' as const };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages',
      operationId: 'listMessages',
      scopes: ['messages:read'],
      summary: 'List messages, newest first',
      description:
        'Each message received has its replies. `from` and `routeId` match messages received only. A key that is restricted to some chats gets messages of those only.',
      query: listQuery,
      responses: { 200: { description: 'A page of messages.', schema: pageResponse(anyMessageView) } },
      handle: async ({ query, caller }) => {
        const { channelId, accountId = config.accountId } = query;
        if (channelId !== undefined) await refuseOtherChat(caller, { accountId, channelId }, aliasesOf);
        const page = await messagePage(messageLog, { ...query, chats: allowedChats(caller) });
        return { status: 200, object: channelId, json: page };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages/{id}',
      operationId: 'getMessage',
      scopes: ['messages:read'],
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
        if (!message) throw new HttpProblem(404, 'NOT_FOUND', 'There is no message with this id.');
        await refuseOtherChat(caller, message, aliasesOf);
        return { status: 200, json: { success: true, data: message } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/messages',
      operationId: 'sendMessage',
      scopes: ['messages:send'],
      summary: 'Send a text to a chat',
      body: sendBody,
      headers: {
        'idempotency-key': 'Makes a repeat safe: the same key returns the first message and sends nothing.',
      },
      responses: {
        202: {
          description: 'The stored message. `GET /api/messages/{id}` shows its delivery state.',
          schema: dataResponse(sentMessageView),
        },
        409: { description: 'The Idempotency-Key was used for another chat or text.', schema: problemSchema },
      },
      handle: async ({ body, header, caller }) => {
        const headers = { 'idempotency-key': header('idempotency-key') };
        const idempotencyKey = validate(sendHeaders, headers, 'headers')['idempotency-key'];
        const accountId = body.accountId ?? config.accountId;
        refuseUnknownAccount(accounts, accountId, config.accountId);
        await refuseOtherChat(caller, { accountId, channelId: body.to }, aliasesOf);
        const { outcome, row } = await sendMessage({
          accountId,
          to: body.to,
          text: body.text,
          idempotencyKey,
        });
        if (outcome === 'conflict') {
          throw new HttpProblem(
            409,
            'IDEMPOTENCY_CONFLICT',
            'This Idempotency-Key was used for another chat or text. Nothing was sent.',
          );
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
          json: { success: true, data: { ...row, direction: 'outgoing', channelId: body.to } },
        };
      },
    }),
  ];
}
