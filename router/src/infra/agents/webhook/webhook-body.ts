import { contractUser, sessionOf } from '../../../core/chat-id.ts';
import { factsOf } from '../../../core/messages/message-facts.ts';
import type { IncomingMessage } from '../../../core/models.ts';
import type { SettingsProblem } from '../agent-kind.ts';

/** What the body of a request is made of. */
export interface BodyInput {
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
  const problems = new Set<string>();
  let isDeep = false;
  fill(
    template,
    (text) => {
      const rest = text.replace(PLACEHOLDER, (placeholder, inner: string) => {
        const name = inner.trim();
        if (!Object.hasOwn(VALUES, name)) {
          problems.add(
            `uses ${shortened(placeholder)}; the placeholders are ${Object.keys(VALUES).join(', ')}`,
          );
        } else if (ALONE.has(name) && text !== placeholder) {
          problems.add(`puts {{${name}}} into other text; use it alone`);
        }
        return '';
      });
      const open = /\{\{[\s\S]*/.exec(rest)?.[0];
      if (open !== undefined) problems.add(`has '${shortened(open)}' without }}`);
      return text;
    },
    () => {
      isDeep = true;
    },
  );
  if (isDeep) problems.add(`is nested deeper than ${MAX_DEPTH} levels`);
  return [...problems].map((message) => ({ field: 'body', message }));
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
  onTooDeep: () => void = () => undefined,
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
