import { z } from 'zod';
import type { Config } from '../../../../config/config.ts';
import type { SendMessageInput } from '../../../../core/delivery/send-message.ts';
import type { AccountControl } from '../../../../core/ports/account-control.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { MessageLog } from '../../../../core/ports/message-log.ts';
import type { OutboxRow } from '../../../../core/ports/outbox.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { accountIdField, chatField, dataResponse, isRowId } from '../fields.ts';
import { HttpProblem, problemSchema } from '../problem.ts';
import { validate } from '../validate.ts';
import { refuseUnknownAccount } from './accounts-api.ts';
import { messageView, pageOf, pageQuery, pageResponse, replyView } from './log-schemas.ts';

export interface MessagesApiDeps {
  messageLog: MessageLog;
  accounts: AccountControl;
  /** Stores a message to send; the same idempotencyKey gives the first row back. */
  sendMessage(input: SendMessageInput): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  config: Pick<Config, 'accountId'>;
  log: Logger;
}

const listQuery = z.strictObject({
  ...pageQuery,
  state: z.enum(['received', 'answered', 'ignored', 'dead']).optional(),
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
  .meta({ id: 'MessageToSend' });

const sendHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters without spaces')
    .optional(),
});

/** Messages that came in and what became of them, and messages an admin sends: `/api/messages`. */
export function messagesApi(deps: MessagesApiDeps): Endpoint[] {
  const { messageLog, accounts, sendMessage, config, log } = deps;
  const common = { tag: 'Messages' as const };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages',
      operationId: 'listMessages',
      summary: 'List messages that came in, newest first, each with its replies',
      query: listQuery,
      responses: { 200: { description: 'A page of messages.', schema: pageResponse(messageView) } },
      handle: async ({ query }) => ({
        status: 200,
        json: pageOf(await messageLog.messages(query), query.limit),
      }),
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/messages/{id}',
      operationId: 'getMessage',
      summary: 'Show a message, its route choice and its replies',
      responses: {
        200: { description: 'The message.', schema: dataResponse(messageView) },
        404: { description: 'No such message.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' } }) => {
        const message = isRowId(id) ? await messageLog.message(id) : undefined;
        if (!message) throw new HttpProblem(404, 'NOT_FOUND', 'There is no message with this id.');
        return { status: 200, json: { success: true, data: message } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/messages',
      operationId: 'sendMessage',
      summary: 'Send a text to a chat',
      body: sendBody,
      headers: {
        'idempotency-key':
          'Makes a repeat harmless: the same key gives the first message back and sends nothing.',
      },
      responses: {
        202: {
          description: 'The message, on its way; its `state` tells how far.',
          schema: dataResponse(replyView),
        },
        409: { description: 'The Idempotency-Key was used for another chat or text.', schema: problemSchema },
      },
      handle: async ({ body, request }) => {
        const headers = { 'idempotency-key': request.get('idempotency-key') };
        const idempotencyKey = validate(sendHeaders, headers, 'headers')['idempotency-key'];
        const accountId = body.accountId ?? config.accountId;
        refuseUnknownAccount(accounts, accountId, config.accountId);
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
            'This Idempotency-Key was used for another chat or text; nothing was sent.',
          );
        }
        if (outcome === 'queued') log.info({ outboxId: row.id }, 'message accepted for sending');
        return { status: 202, json: { success: true, data: row } };
      },
    }),
  ];
}
