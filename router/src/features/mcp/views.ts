import { z } from 'zod';
import { messageView, sentMessageView } from '../../infra/operations/log-schemas.ts';
import { idempotencyKey } from '../chats/messages-api.ts';

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
export const shortMessage = z.discriminatedUnion('direction', [
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
