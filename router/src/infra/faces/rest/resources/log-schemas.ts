import { z } from 'zod';
import { accountIdField, chatField, rowIdField, timeView, wholeNumberQuery } from '../fields.ts';

/** What GET /api/messages and /api/dead-letters share: filters, and paging backward from the newest. */
export const pageQuery = {
  accountId: accountIdField.optional(),
  channelId: chatField.optional().describe('Only this chat.'),
  before: rowIdField.optional().describe('Only rows older than the one with this id; see `nextBefore`.'),
  limit: wholeNumberQuery(1, 500).prefault('50').describe('At most this many rows.'),
};

/** A page of rows, newest first; `nextBefore` is there when there may be more. */
export function pageResponse<T extends z.ZodType>(item: T) {
  return z.object({
    success: z.literal(true),
    data: z.array(item),
    count: z.int(),
    nextBefore: z.string().optional().describe('Send it as `before` to get the next page.'),
  });
}

/** Body of a page of rows as `pageResponse` describes it. */
export function pageOf<T extends { id: string }>(data: T[], limit: number) {
  const last = data.at(-1);
  const nextBefore = data.length === limit && last ? { nextBefore: last.id } : {};
  return { success: true, data, count: data.length, ...nextBefore };
}

/** What a file is; its bytes are never shown. */
const mediaView = z.object({
  kind: z.string().describe('image, video, audio, voice, document, sticker.'),
  mimeType: z.string(),
  fileName: z.string().optional(),
  sizeBytes: z.number().optional(),
});

/** What went out, or is about to. */
export const replyView = z
  .object({
    id: z.string(),
    accountId: z.string(),
    chatId: z.string(),
    to: z.string().describe('JID of the chat.'),
    waMessageId: z.string(),
    text: z.string().describe('With a file, its caption.'),
    media: mediaView.optional(),
    state: z.enum(['queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead']),
    attempts: z.int(),
    error: z.string().optional(),
    queuedAt: timeView,
    delayedUntil: timeView.optional().describe('It is not sent before: WhatsApp limits the account.'),
    triedAt: timeView.optional().describe('The last try.'),
    sentAt: timeView.optional(),
    ackedAt: timeView.optional(),
    deliveredAt: timeView.optional(),
    readAt: timeView.optional(),
  })
  .meta({ id: 'Reply' });

/** What came in, and what became of it. */
export const messageView = z
  .object({
    id: z.string(),
    accountId: z.string(),
    chatId: z.string(),
    channelId: z.string(),
    waMessageId: z.string(),
    from: z.string(),
    fromLid: z.string().optional(),
    pushName: z.string().optional(),
    kind: z.string(),
    text: z.string(),
    quotedText: z.string().optional(),
    media: mediaView.optional().describe('The file it carries; a caption is the text.'),
    state: z.string(),
    reason: z.string().optional().describe('Why there is no answer.'),
    error: z.string().optional(),
    routeId: z.string().optional(),
    attempts: z.int(),
    agentMs: z.number().optional(),
    trace: z
      .unknown()
      .optional()
      .describe(
        'The route choice, rule by rule; for an ABI agent also the call, with arguments and outputs.',
      ),
    sentAt: timeView,
    receivedAt: timeView,
    finishedAt: timeView.optional(),
    replies: z.array(replyView),
  })
  .meta({ id: 'Message' });

/** A message that got no answer for good, and why. */
export const deadLetterView = z
  .object({
    id: z.string(),
    accountId: z.string(),
    chatId: z.string(),
    messageId: z.string().optional(),
    outboxId: z.string().optional().describe('Set: it is a reply that was not sent.'),
    reason: z.string(),
    error: z.string(),
    attempts: z.int(),
    trace: z.unknown().optional(),
    createdAt: timeView,
    replayedAt: timeView.optional(),
  })
  .meta({ id: 'DeadLetter' });
