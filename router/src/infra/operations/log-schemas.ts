import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { LogLine } from '../../core/ports/agent-runtime.ts';
import {
  accountIdField,
  claimQuery,
  pageQuery,
  personField,
  rowIdField,
  searchedChatField,
  timeQuery,
  timeView,
} from './fields.ts';
import { phraseField } from './problem.ts';

const DEFAULT_PAGE = 50;

/** Query parameter of a list whose entries have a trace, which is most of such an entry. */
export const traceQuery = claimQuery
  .default(false)
  .describe('Whether entries have their `trace`. One message or dead letter always has it.');

/** Filters and paging that the lists of messages and of dead letters share. Newest first. */
export const logQuery = {
  accountId: accountIdField.optional().describe('Only this WhatsApp account. Default: all.'),
  channelId: searchedChatField.optional().describe('Only this chat: a phone number, a JID or a group id.'),
  from: personField
    .optional()
    .describe('Only messages of this person, in any chat: a phone number or a JID.'),
  since: timeQuery.optional().describe('Only entries from this time on (received, queued or failed).'),
  until: timeQuery.optional().describe('Only entries before this time.'),
  trace: traceQuery,
  ...pageQuery(rowIdField, DEFAULT_PAGE),
};

/** What a file is. Its bytes are never shown. */
const mediaView = z.object({
  kind: z.string().describe('image, video, audio, voice, document, sticker.'),
  mimeType: z.string(),
  fileName: z.string().optional(),
  sizeBytes: z.number().optional(),
});

const ids = {
  id: z.string().describe('Id of a message received or sent: both share one sequence.'),
  accountId: z.string(),
  channelId: z.string().describe('Address of the chat, as in routes and filters.'),
  username: z.string().optional().describe("User name of the chat's person on WhatsApp, without `@`."),
  chatId: z.string().describe('Id of the stored chat.'),
};

const hasFile = z
  .literal(true)
  .optional()
  .describe(
    '`GET /api/messages/{id}/file` loads its file. Absent: it has none, or it is not stored any more.',
  );

const SENT_EXAMPLE = {
  direction: 'outgoing',
  id: '4712',
  accountId: 'default',
  channelId: '5493777239922',
  chatId: '17',
  messageId: '4711',
  to: '5493777239922@s.whatsapp.net',
  waMessageId: '3EB0A1B2C3D4E5F60718',
  text: 'Your order left our house this morning.',
  state: 'delivered',
  attempts: 1,
  queuedAt: '2026-01-31T12:00:01.204Z',
  attemptedAt: '2026-01-31T12:00:01.231Z',
  sentAt: '2026-01-31T12:00:01.260Z',
  ackedAt: '2026-01-31T12:00:01.260Z',
  deliveredAt: '2026-01-31T12:00:02.000Z',
};

/** A message sent or to be sent. */
export const sentMessageView = z
  .object({
    direction: z.literal('outgoing'),
    ...ids,
    messageId: z.string().optional().describe('The message that it replies to.'),
    to: z.string().describe('JID of the chat.'),
    waMessageId: z.string().describe("WhatsApp's id of the message."),
    text: z.string().describe('With a file, its caption.'),
    media: mediaView.optional(),
    hasFile,
    isNotice: z
      .literal(true)
      .optional()
      .describe('wa2ai itself wrote it: a notice of a slow answer, or a text for the owner.'),
    byHand: z.literal(true).optional().describe('A person wrote it, through the API.'),
    special: z
      .looseObject({ kind: z.enum(['location', 'contacts', 'poll', 'reaction', 'edit', 'deletion']) })
      .optional()
      .describe(
        'What it is when it is neither text nor file. `of` of a reaction, an edit or a deletion is the `waMessageId` of the message that it is about.',
      ),
    quote: z
      .object({ waMessageId: z.string(), from: z.string(), text: z.string() })
      .optional()
      .describe('The message that it quotes.'),
    state: z
      .enum(['draft', 'queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead'])
      .describe(
        '`draft`: waits for the owner. `queued` → `sending` → `sent` (written to WhatsApp) → `acked` (WhatsApp has it) → `delivered` → `read`. `dead`: given up, see `reason` and `error`.',
      ),
    reason: z.string().optional().describe('Why it is dead, such as `send-refused`.'),
    error: z.string().optional().describe('What went wrong at the last attempt.'),
    phrase: phraseField,
    deadLetterId: z.string().optional().describe('Its dead letter, with which it can be replayed.'),
    attempts: z.int(),
    queuedAt: timeView,
    delayedUntil: timeView
      .optional()
      .describe(
        'Not sent before this time: WhatsApp limits the account, or it is a first contact that the governor delayed.',
      ),
    attemptedAt: timeView.optional().describe('The last attempt.'),
    sentAt: timeView.optional(),
    ackedAt: timeView.optional(),
    deliveredAt: timeView.optional(),
    readAt: timeView.optional(),
  })
  .meta({ id: 'SentMessage', examples: [SENT_EXAMPLE] });

/** A message received, with its result. */
export const messageView = z
  .object({
    direction: z.literal('incoming'),
    ...ids,
    waMessageId: z.string().describe("WhatsApp's id of the message."),
    from: z.string().describe('JID of the person who wrote it.'),
    fromLid: z.string().optional(),
    pushName: z.string().optional().describe('The name that the person chose.'),
    kind: z.string(),
    text: z.string(),
    quotedText: z.string().optional(),
    editOf: z.string().optional().describe('The `waMessageId` of the message that it edits.'),
    about: z.string().optional().describe('The `waMessageId` of the message that it deletes or reacts to.'),
    edits: z
      .int()
      .optional()
      .describe('How often it was edited before its answer; `text` is the last version. Absent: never.'),
    card: z
      .looseObject({ kind: z.string() })
      .optional()
      .describe('A location, contacts, a poll, an event, the preview of a link, or a choice.'),
    viewOnce: z.string().optional().describe('The kind of a file that could be seen once; it is not stored.'),
    media: mediaView.optional().describe('Its file; `text` is then the caption.'),
    hasFile,
    state: z.string().describe('received, answered, ignored, dead.'),
    reason: z.string().optional().describe('Why there is no answer.'),
    error: z.string().optional(),
    phrase: phraseField,
    routeId: z.string().optional(),
    attempts: z.int().describe('Requests to agents.'),
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
    replies: z.array(sentMessageView),
  })
  .meta({
    id: 'Message',
    examples: [
      {
        direction: 'incoming',
        id: '4711',
        accountId: 'default',
        channelId: '5493777239922',
        chatId: '17',
        waMessageId: '3A5F0C0FFEE0BADF00D1',
        from: '5493777239922@s.whatsapp.net',
        pushName: 'Ana',
        kind: 'text',
        text: 'Where is my order?',
        state: 'answered',
        routeId: '01987c2e-0000-7000-8000-000000000001',
        attempts: 1,
        agentMs: 812,
        sentAt: '2026-01-31T12:00:00.000Z',
        receivedAt: '2026-01-31T12:00:00.310Z',
        finishedAt: '2026-01-31T12:00:01.204Z',
        replies: [SENT_EXAMPLE],
      },
    ],
  });

/** A message received or sent. */
export const anyMessageView = z.discriminatedUnion('direction', [messageView, sentMessageView]);

const exchangedContent = {
  headers: z
    .record(z.string(), z.string())
    .describe('Names in lower case. Values that may be secret are `***`.'),
  body: z
    .string()
    .optional()
    .describe('Without secrets; a text that ends with `…` is cut. Absent: there is none, or it is no text.'),
  bytes: z.int().optional().describe('Size of the whole body.'),
};

/** A request to an agent and what came back. */
export const exchangeView = z
  .object({
    attempt: z.int().optional().describe('The attempt it belongs to, from 1. Absent: before the first one.'),
    at: timeView.describe('When the request began.'),
    ms: z.int().optional().describe('From the request to the end of the answer. Absent: it had not ended.'),
    request: z.object({ method: z.string(), url: z.string(), ...exchangedContent }),
    response: z
      .object({ status: z.int(), ...exchangedContent })
      .optional()
      .describe('Absent: no answer began.'),
    fault: z.string().optional().describe('What went wrong with the connection.'),
  })
  .meta({
    id: 'Exchange',
    examples: [
      {
        attempt: 1,
        at: '2026-01-31T12:00:00.390Z',
        ms: 812,
        request: {
          method: 'POST',
          url: 'https://agent.example.com/run',
          headers: { authorization: '***', 'content-type': 'application/json' },
          body: '{"text":"Where is my order?"}',
          bytes: 29,
        },
        response: {
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: '{"text":"It arrives today."}',
          bytes: 28,
        },
      },
    ],
  });

/** The dead letters with one reason. */
export const deadLetterGroupView = z
  .object({
    reason: z.string(),
    count: z.int(),
    newestAt: timeView.describe('When the last of them failed.'),
    oldestAt: timeView.describe('When the first of them failed.'),
    error: z.string().describe('A sentence for an operator, of the newest.'),
    phrase: phraseField,
  })
  .meta({
    id: 'DeadLetterGroup',
    examples: [
      {
        reason: 'AGENT_TIMEOUT',
        count: 17,
        newestAt: '2026-01-31T12:00:31.000Z',
        oldestAt: '2026-01-31T11:02:10.000Z',
        error: 'The agent did not answer within 30000 ms.',
      },
    ],
  });

/** A message without an answer, or a message that was not sent, and why. */
export const deadLetterView = z
  .object({
    ...ids,
    id: z.string(),
    messageId: z.string().optional().describe('The message without an answer, or whose reply was not sent.'),
    outboxId: z.string().optional().describe('The message that was not sent; see `GET /api/messages/{id}`.'),
    state: z.enum(['open', 'replayed', 'closed']),
    reason: z.string(),
    error: z.string().describe('A sentence for an operator.'),
    phrase: phraseField,
    attempts: z.int(),
    from: z.string().optional().describe('JID of the person who wrote the message.'),
    pushName: z.string().optional(),
    groupName: z.string().optional().describe('The name of the group, where it is known.'),
    to: z.string().optional().describe('JID of the chat to which it was not sent.'),
    text: z
      .string()
      .describe('Of the message that was not sent if there is one, else of the message received.'),
    trace: z.unknown().optional(),
    createdAt: timeView.describe('When it failed first.'),
    failedAt: timeView.describe('When it failed last: after a replay that failed, later than `createdAt`.'),
    replayedAt: timeView.optional(),
    closedAt: timeView.optional(),
  })
  .meta({
    id: 'DeadLetter',
    examples: [
      {
        id: '12',
        accountId: 'default',
        channelId: '5493777239922',
        chatId: '17',
        messageId: '4711',
        state: 'open',
        reason: 'AGENT_TIMEOUT',
        error: 'The agent did not answer within 30000 ms.',
        attempts: 3,
        from: '5493777239922@s.whatsapp.net',
        pushName: 'Ana',
        text: 'Where is my order?',
        createdAt: '2026-01-31T12:00:31.000Z',
        failedAt: '2026-01-31T12:00:31.000Z',
      },
    ],
  });

/** So that proxies and readers see a connection that works. */
const HEARTBEAT_MS = 15_000;

interface StreamContext {
  clock: Pick<Clock, 'sleep'>;
  /** Aborts when the reader has left. */
  gone: AbortController;
}

/**
 * Writes lines as server-sent events, as fast as the reader takes them, until they end: `data: {"stream", "text"}`, then the
 * event `end`.
 * @param context `gone` ends `lines`
 */
export function streamLog(
  response: ServerResponse,
  lines: AsyncIterable<LogLine>,
  context: StreamContext,
): Promise<void> {
  return streamFrames(response, framesOf(lines), context);
}

async function* framesOf(lines: AsyncIterable<LogLine>): AsyncGenerator<string> {
  for await (const { stream, text } of lines) yield `data: ${JSON.stringify({ stream, text })}\n\n`;
  yield 'event: end\ndata: {}\n\n';
}

/** Writes server-sent events, as fast as the reader takes them, until they end. @param context `gone` ends `frames` */
export async function streamFrames(
  response: ServerResponse,
  frames: AsyncIterable<string>,
  { clock, gone }: StreamContext,
): Promise<void> {
  response.on('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // For proxies that collect responses.
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  const beating = keepBeating(response, clock, gone.signal);
  try {
    for await (const frame of frames) {
      if (!response.write(frame)) await once(response, 'drain', { signal: gone.signal });
    }
  } catch {
    // The reader has left, or the source was lost: a reader without the event `end` connects again.
  } finally {
    gone.abort();
    response.end();
    await beating;
  }
}

async function keepBeating(
  response: ServerResponse,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(HEARTBEAT_MS, signal).catch(() => undefined);
    if (!signal.aborted && !response.writableNeedDrain) response.write(': heartbeat\n\n');
  }
}
