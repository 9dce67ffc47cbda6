import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { contractUser, sessionOf } from '../../../core/chat-id.ts';
import { factsOf } from '../../../core/messages/message-facts.ts';
import type { IncomingMessage } from '../../../core/models.ts';
import { PHRASES, type Said, say } from '../../../core/phrases.ts';
import { type ProbeFinding, reachFinding, type SettingsProblem } from '../agent-kind.ts';
import { headersField, secretField, timeoutField } from '../setting-fields.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';

/** What the body of a request is made of. */
interface BodyInput {
  message: IncomingMessage;
  /** The bytes of the message's file; absent when it has none, or none that the body contains. */
  file?: Uint8Array;
  /** A link to the file; absent when it has none, or none that the body contains. */
  fileUrl?: string;
  /** By which the webhook can answer later. */
  replyToken?: string;
}

type Value = (input: BodyInput) => unknown;

/** The values of the default body, in its order, and of placeholders. Absent ones are null. */
const DEFAULT_VALUES: Record<string, Value> = {
  event: () => 'message',
  messageId: ({ message }) => message.id,
  chatInput: ({ message }) => message.text,
  sessionId: ({ message }) => sessionOf(message).sessionId,
  channelId: ({ message }) => message.channelId,
  from: ({ message }) => message.from,
  name: ({ message }) => message.pushName ?? null,
  text: ({ message }) => message.text,
  number: ({ message }) => factsOf(message).number ?? null,
  lid: ({ message }) => factsOf(message).lid ?? null,
  isGroup: ({ message }) => message.isGroup ?? false,
  subject: ({ message }) => message.subject ?? null,
  language: ({ message }) => factsOf(message).language ?? null,
  kind: ({ message }) => message.kind ?? 'text',
  quotedText: ({ message }) => message.quotedText ?? null,
  quotedFrom: ({ message: { quotedFrom } }) => quotedFrom ?? null,
  mentions: ({ message: { mentions = [] } }) =>
    mentions.map(({ id, tag, name = null }) => ({ id, tag, name })),
  editOf: ({ message }) => message.editOf ?? null,
  card: ({ message }) => message.card ?? null,
  isTranscript: ({ message }) => message.isTranscript ?? false,
  context: ({ message: { context } }) => context?.map(({ by, name, text }) => ({ by, name, text })) ?? null,
  media: ({ message: { media }, file, fileUrl }) =>
    media
      ? {
          kind: media.kind,
          mimeType: media.mimeType,
          fileName: media.fileName ?? null,
          sizeBytes: file?.length ?? media.sizeBytes ?? null,
          data: file ? base64(file) : null,
          url: fileUrl ?? null,
        }
      : null,
  timestamp: ({ message }) => message.timestamp.toISOString(),
  replyToken: ({ replyToken }) => replyToken ?? null,
};

/** Values that only placeholders have. */
const MORE_VALUES: Record<string, Value> = {
  phone: ({ message }) => contractUser(message.from),
  accountId: ({ message }) => message.accountId ?? null,
  mediaType: ({ message }) => message.media?.mimeType ?? null,
  fileName: ({ message }) => message.media?.fileName ?? null,
  mediaData: ({ file }) => (file ? base64(file) : null),
  mediaUrl: ({ fileUrl }) => fileUrl ?? null,
};

const VALUES: Record<string, Value> = { ...DEFAULT_VALUES, ...MORE_VALUES };

/** Values with the bytes of the file. */
const OF_FILE = new Set(['media', 'mediaData']);
/** Values with a link to the file. */
const OF_LINK = new Set(['media', 'mediaUrl']);
/** Values that cannot be part of a longer text. */
const ALONE = new Set(['media', 'mentions', 'context', 'card', 'quotedFrom']);

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;
const SOLE_PLACEHOLDER = /^\{\{([^{}]*)\}\}$/;
const MAX_DEPTH = 32;

/**
 * The body of a request. A text of the template that is only a placeholder becomes the value with its type: an object, a
 * boolean or null. Part of a longer text, it becomes text, and null nothing.
 */
export function bodyOf(template: unknown, input: BodyInput): unknown {
  if (template === undefined) {
    return Object.fromEntries(Object.entries(DEFAULT_VALUES).map(([name, value]) => [name, value(input)]));
  }
  const valueNamed = (placeholder: string) => {
    const name = placeholder.trim();
    return Object.hasOwn(VALUES, name) ? VALUES[name]?.(input) : null;
  };
  return fill(template, (text) => {
    const sole = SOLE_PLACEHOLDER.exec(text)?.[1];
    if (sole !== undefined) return valueNamed(sole);
    return text.replace(PLACEHOLDER, (_, name: string) => String(valueNamed(name) ?? ''));
  });
}

/** Whether the body contains the bytes of the message's file. */
export function hasFile(template: unknown): boolean {
  return template === undefined || placeholdersIn(template).some((name) => OF_FILE.has(name));
}

/** Whether the body contains a link to the message's file. */
export function hasLink(template: unknown): boolean {
  return template === undefined || placeholdersIn(template).some((name) => OF_LINK.has(name));
}

/** Mistakes in the placeholders of a template. */
export function bodyProblems(template: unknown): SettingsProblem[] {
  const problems = new Map<string, Said>();
  const add = (said: Said) => problems.set(said.sentence, said);
  fill(
    template,
    (text) => {
      const rest = text.replace(PLACEHOLDER, (placeholder, inner: string) => {
        const name = inner.trim();
        if (!Object.hasOwn(VALUES, name)) {
          const names = Object.keys(VALUES).join(', ');
          add(say('template.unknown-placeholder', { placeholder: shortened(placeholder), names }));
        } else if (ALONE.has(name) && text !== placeholder) {
          add(say('template.alone', { placeholder: `{{${name}}}` }));
        }
        return '';
      });
      const open = /\{\{[\s\S]*/.exec(rest)?.[0];
      if (open !== undefined) add(say('template.open', { text: shortened(open) }));
      return text;
    },
    () => add(say('field.depth', { levels: MAX_DEPTH })),
  );
  return [...problems.values()].map((said) => ({ field: 'body', said }));
}

function placeholdersIn(template: unknown): string[] {
  const names: string[] = [];
  fill(template, (text) => {
    names.push(...[...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name.trim()));
    return text;
  });
  return names;
}

function fill(
  template: unknown,
  leaf: (text: string) => unknown,
  onTooDeep: () => unknown = () => undefined,
  depth = 0,
): unknown {
  if (typeof template === 'string') return leaf(template);
  if (typeof template !== 'object' || template === null) return template;
  if (depth > MAX_DEPTH) {
    onTooDeep();
    return null;
  }
  const next = (item: unknown) => fill(item, leaf, onTooDeep, depth + 1);
  if (Array.isArray(template)) return template.map(next);
  return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, next(item)]));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Settings of a route to a webhook; `bodyProblems` makes the checks that a schema cannot express. */
export const webhookSettings = z.strictObject({
  method: z.enum(['POST', 'PUT', 'PATCH']).optional().describe('Default: `POST`.'),
  headers: headersField.optional(),
  secret: secretField
    .min(8, PHRASES['field.secret-8'])
    .meta({ format: 'password' })
    .optional()
    .describe(
      'Key of the signature in `X-Wa2ai-Signature`. Stored; the API shows `***`. Default: no signature.',
    ),
  body: z
    .union([z.record(z.string(), z.unknown()), z.array(z.unknown())], {
      error: PHRASES['field.object-or-array'],
    })
    .optional()
    .describe(
      'Template of the JSON body: any JSON with placeholders such as `"{{text}}"`. Default: all values.',
    ),
  reply: z
    .enum(['sync', 'async'])
    .optional()
    .describe(
      '`sync`: the response contains the answer, except with the status 202 or 204. `async`: the response is ignored, and the answer comes with `POST /api/replies/{token}`. Default: `sync`.',
    ),
  output: z
    .string()
    .max(500)
    .regex(/^[^.\s]+(?:\.[^.\s]+)*$/, PHRASES['field.path'])
    .optional()
    .describe(
      'Where the answer is in a JSON response: a path such as `data.answer` or `choices.0.text`. Default: the first of `output`, `text`, `reply`, `response`, `message`.',
    ),
  timeoutMs: timeoutField.optional(),
});

export type WebhookSettings = z.output<typeof webhookSettings>;

const MAX_BYTES = 64 * 1024;

/** The answer of a webhook to `HEAD`, which starts nothing. */
export interface WebhookProbe {
  /** Absent: there was no answer. */
  status?: number;
  /** Why there was no answer. */
  problem?: Said;
}

/** Checks whether a server answers at the address of a webhook. */
export async function probeWebhook(
  url: string,
  headers: Record<string, string>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<WebhookProbe> {
  const fetched = await transport.fetch(url, {
    method: 'HEAD',
    headers: new Headers(headers),
    signal,
    maxBytes: MAX_BYTES,
  });
  if (fetched.kind === 'answer') return { status: fetched.status };
  return { problem: fetched.detail };
}

/** Likely problems of a route to this webhook. */
export async function webhookFindings(
  agentEndpoint: string,
  { headers = {} }: { headers?: Record<string, string> },
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const probe = await probeWebhook(agentEndpoint, headers, deps);
  const fields = { address: 'agentEndpoint', headers: 'config.webhook.headers' };
  const finding = reachFinding({ kind: 'webhook', address: new URL(agentEndpoint).origin }, probe, fields);
  return finding ? [finding] : [];
}

/**
 * The headers that show that a request is from wa2ai, and when it was made: `X-Wa2ai-Timestamp`, Unix seconds, and
 * `X-Wa2ai-Signature`, `sha256=` and the HMAC-SHA256 in hexadecimal of the timestamp, a dot, and the bytes of the body. A
 * receiver that checks the time too cannot be sent an old request again.
 */
export function signatureHeaders(secret: string, body: string, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const digest = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'x-wa2ai-timestamp': timestamp, 'x-wa2ai-signature': `sha256=${digest}` };
}
