import { z } from 'zod';
import { MessageWatch, waitForMessage } from '../../core/messages/message-watch.ts';
import type { Service } from '../../feature.ts';
import { deadLetterView, sentMessageView } from '../../infra/operations/log-schemas.ts';
import type { RestCalls } from '../../infra/operations/server.ts';
import { waitSeconds, withProgress } from './ask-person.ts';
import { type McpTool, READS, READS_CHATS, SENDS, tool } from './call-tool.ts';
import { args, operationTool, receivedMessage, shortMessageOf } from './chat-tools.ts';

const SENT_STATE = sentMessageView.shape.state;

/** The delivery of one message. */
const delivery = z.object({
  id: z.string(),
  state: SENT_STATE,
  reason: z.string().optional().describe('Why it is dead, such as `send-refused`.'),
  error: z.string().optional().describe('What went wrong at the last attempt.'),
  deadLetterId: z.string().optional(),
  queuedAt: z.string(),
  ackedAt: z.string().optional().describe('When WhatsApp took it.'),
  deliveredAt: z.string().optional(),
  readAt: z.string().optional(),
});

/** Sending, and what became of messages. */
export function sendTools(rest: RestCalls): McpTool[] {
  return [
    tool({
      name: 'send_whatsapp_message',
      title: 'Send a WhatsApp message',
      description:
        'Sends a text to a person or a group on WhatsApp. It is stored and then sent: get_delivery_status shows the state. To wait for the reaction, call wait_for_message with `after` set to the returned id.',
      ...rest.admissionOf('sendMessage'),
      input: z.strictObject({
        to: args.channel,
        text: z.string().min(1).max(65_536),
        account_id: args.accountId,
        idempotency_key: args.idempotencyKey,
      }),
      output: delivery.extend({ chatId: z.string(), channelId: z.string() }),
      annotations: { ...SENDS, idempotentHint: false },
      run: async ({ to, text, account_id, idempotency_key }, { caller }) => {
        const { json, object } = await rest.call('sendMessage', caller, {
          body: { channelId: to, text, accountId: account_id },
          headers: { 'idempotency-key': idempotency_key },
        });
        const row = json.data as Record<string, unknown>;
        const { chatId, channelId } = row as { chatId: string; channelId: string };
        return { data: { ...deliveryOf(row), chatId, channelId }, ...(object && { object }) };
      },
    }),
    tool({
      name: 'get_delivery_status',
      title: 'Delivery status of a message',
      description:
        'Shows whether a message was sent, delivered and read; for a message received, how its turn ended and the delivery of its replies.',
      ...rest.admissionOf('getMessage'),
      input: z.strictObject({
        message_id: z.string().min(1).max(20).describe('Id of a message sent or received.'),
      }),
      output: z.object({
        id: z.string(),
        direction: z.enum(['incoming', 'outgoing']),
        state: z
          .string()
          .describe(
            'Sent: `queued`, `sending`, `sent`, `acked`, `delivered`, `read` or `dead`. Received: `received`, `answered`, `ignored` or `dead`.',
          ),
        reason: z.string().optional(),
        error: z.string().optional(),
        delivery: delivery.optional().describe('Of a message sent.'),
        replies: z.array(delivery).optional().describe('Of a message received.'),
      }),
      annotations: READS,
      run: async ({ message_id }, { caller }) => {
        const { json, object } = await rest.call('getMessage', caller, { params: { id: message_id } });
        const row = json.data as Record<string, unknown>;
        const { id, direction, state, reason, error } = row as {
          id: string;
          direction: 'incoming' | 'outgoing';
          state: string;
          reason?: string;
          error?: string;
        };
        const parts =
          direction === 'outgoing'
            ? { delivery: deliveryOf(row) }
            : { replies: (row.replies as Array<Record<string, unknown>>).map(deliveryOf) };
        return {
          data: { id, direction, state, ...(reason && { reason }), ...(error && { error }), ...parts },
          ...(object && { object }),
        };
      },
    }),
  ];
}

/** A message sent → its delivery. Unknown fields are removed. */
function deliveryOf(row: Record<string, unknown>): z.output<typeof delivery> {
  return delivery.parse(row);
}

const shortLetter = deadLetterView.omit({ trace: true }).meta({ id: 'McpDeadLetter' });

/** Messages and replies that were given up. */
export function deadLetterTools(rest: RestCalls): McpTool[] {
  return [
    operationTool(rest, 'listDeadLetters', {
      name: 'list_dead_letters',
      title: 'List dead letters',
      description:
        'Lists messages without an answer and messages that were not sent, newest first, each with its reason, a sentence for operators and its text.',
      input: {
        state: z.enum(['open', 'replayed', 'closed']).default('open'),
        reason: z.string().min(1).max(200).optional().describe('Only dead letters with exactly this reason.'),
        channel: args.channel
          .optional()
          .describe('Only this chat: a phone number with its country code, a JID or a group id.'),
        account_id: args.accountId,
        since: args.since,
        until: args.until,
        cursor: args.cursor,
        limit: args.limit,
      },
      result: { deadLetters: z.array(shortLetter) },
      annotations: READS_CHATS,
      untrusted: 'people',
    }),
    tool({
      name: 'replay_dead_letter',
      title: 'Replay a dead letter',
      description:
        'Answers the message of a dead letter again, by the route table as it is now, or sends its reply again. If it fails again, the same dead letter is open again.',
      ...rest.admissionOf('replayDeadLetter'),
      input: z.strictObject({ dead_letter_id: z.string().min(1).max(20) }),
      output: z.object({ deadLetterId: z.string(), status: z.literal('replayed') }),
      annotations: { ...SENDS, idempotentHint: false },
      run: async ({ dead_letter_id }, { caller }) => {
        const { object } = await rest.call('replayDeadLetter', caller, { params: { id: dead_letter_id } });
        return {
          data: { deadLetterId: dead_letter_id, status: 'replayed' as const },
          ...(object && { object }),
        };
      },
    }),
  ];
}

export function waitForMessageTool(service: Service): McpTool {
  const { calls: rest, messageLog, clock } = service;
  const watch = new MessageWatch(service);
  return tool({
    name: 'wait_for_message',
    title: 'Wait for a message',
    description:
      'Waits until somebody writes in a chat. Returns the messages that came, oldest first; call again with `after` to wait for the next ones. The messages are answered by the route of the chat as always.',
    ...rest.admissionOf('listChatMessages'),
    input: z.strictObject({
      chat: args.chat,
      after: z
        .string()
        .regex(/^\d{1,18}$/, 'must be the id of a message')
        .optional()
        .describe(
          'Only messages after this one: `after` of the call before, or the id of a message sent or received. Default: from now on.',
        ),
      wait_seconds: waitSeconds(),
    }),
    output: z.object({
      status: z.enum(['received', 'waiting']),
      messages: z.array(receivedMessage),
      after: z.string().describe('Send it as `after` to wait for the next messages.'),
    }),
    annotations: READS_CHATS,
    untrusted: 'people',
    run: async ({ chat, after, wait_seconds }, call) => {
      const { json } = await rest.call('getChat', call.caller, { params: { id: chat } });
      const { id: chatId } = json.data as { id: string };
      const waitMs = wait_seconds * 1_000;
      const found = await withProgress(clock, wait_seconds, call, () =>
        waitForMessage(
          { messageLog, watch, clock },
          { chatId, waitMs, ...(after !== undefined && { after }) },
          call.signal,
        ),
      );
      const plain: unknown[] = JSON.parse(JSON.stringify(found.messages));
      const messages = plain.map(shortMessageOf) as Array<z.output<typeof receivedMessage>>;
      const status = messages.length > 0 ? ('received' as const) : ('waiting' as const);
      return { data: { status, messages, after: found.after }, object: chatId };
    },
  });
}
