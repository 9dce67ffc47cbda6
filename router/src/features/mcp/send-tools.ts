import { z } from 'zod';
import { sentMessageView } from '../../infra/operations/log-schemas.ts';
import type { RestCalls } from '../../infra/operations/rest-calls.ts';
import { type McpTool, READS, SENDS, tool } from './tool.ts';
import { args } from './views.ts';

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
          body: { to, text, accountId: account_id },
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
