import { contractUser } from '../../core/chat-id.ts';
import { factsOf } from '../../core/messages/message-facts.ts';
import type { ContextMessage, IncomingMessage } from '../../core/models.ts';
import { type Said, say } from '../../core/phrases.ts';
import { indented, lineOfPerson, OWNER_NAME } from '../../core/text.ts';

/** A value of a message: JSON, and the time in seconds as a bigint. */
type MessageValue = string | boolean | bigint | MessageValue[] | { [key: string]: MessageValue };

/** Variables of templates over a message, by the name in `{{name}}`. */
const MESSAGE_VARIABLES: Readonly<Record<string, (message: IncomingMessage) => MessageValue>> = {
  text: ({ text }) => text,
  from: ({ from }) => from,
  phone: ({ from }) => contractUser(from),
  name: ({ pushName }) => pushName ?? '',
  waMessageId: ({ id }) => id,
  // The former name of `waMessageId`.
  messageId: ({ id }) => id,
  channelId: ({ channelId }) => channelId,
  accountId: ({ accountId }) => accountId ?? '',
  timestamp: ({ timestamp }) => BigInt(Math.trunc(timestamp.getTime() / 1000)),
  quotedText: ({ quotedText }) => quotedText ?? '',
  editOf: ({ editOf }) => editOf ?? '',
  mentions: ({ mentions = [] }) => mentions.map(({ id, tag, name = '' }) => ({ id, tag, name })),
  isGroup: ({ isGroup }) => isGroup ?? false,
  number: (message) => factsOf(message).number ?? '',
  lid: (message) => factsOf(message).lid ?? '',
  chat: ({ isGroup }) => (isGroup ? 'group' : 'person'),
  subject: ({ subject }) => subject ?? '',
  language: (message) => factsOf(message).language ?? '',
  quotedName: ({ quotedFrom }) => quotedFrom?.name ?? '',
  quotedFrom: ({ quotedFrom }) => quotedFrom?.id ?? '',
  kind: ({ kind }) => kind ?? 'text',
  isTranscript: ({ isTranscript }) => isTranscript ?? false,
  latitude: ({ card }) => (card?.kind === 'location' ? String(card.latitude) : ''),
  longitude: ({ card }) => (card?.kind === 'location' ? String(card.longitude) : ''),
  mediaType: ({ media }) => media?.mimeType ?? '',
  fileName: ({ media }) => media?.fileName ?? '',
};

/** Variable for the bytes of the message's file; only some agent kinds take files in a template. */
export const MEDIA_VARIABLE = 'media';

/** Variables that cannot be part of a longer text. */
const ALONE = new Set([MEDIA_VARIABLE, 'mentions']);

/** Names of the variables, for messages. */
const VARIABLE_NAMES = [...Object.keys(MESSAGE_VARIABLES), MEDIA_VARIABLE];

export const PLACEHOLDER = /\{\{\s*([\w.]+)\s*\}\}/g;
const SOLE_PLACEHOLDER = /^\{\{\s*([\w.]+)\s*\}\}$/;
const MAX_DEPTH = 32;

/** Name of the variable when a text is nothing but its placeholder. */
export function soleVariable(text: string): string | undefined {
  return SOLE_PLACEHOLDER.exec(text)?.[1];
}

/** A text of a template with its placeholders replaced; a text that is only a placeholder gets the type of the variable. */
export function fillText(text: string, message: IncomingMessage): MessageValue | undefined {
  const sole = soleVariable(text);
  if (sole) return MESSAGE_VARIABLES[sole]?.(message);
  return text.replace(PLACEHOLDER, (_, name: string) => String(MESSAGE_VARIABLES[name]?.(message) ?? ''));
}

/** A copy of the template in which `leaf` has replaced each text; what is nested too deep is left out. */
export function mapLeaves(template: unknown, leaf: (text: string) => unknown, depth = 0): unknown {
  if (typeof template === 'string') return leaf(template);
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(template)) return template.map((item) => mapLeaves(item, leaf, depth + 1));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(
    Object.entries(template).map(([key, item]) => [key, mapLeaves(item, leaf, depth + 1)]),
  );
}

/** Mistakes in the placeholders of a template, one sentence each: unknown variables and braces that are not closed. */
export function placeholderProblems(template: unknown): Said[] {
  const problems = new Map<string, Said>();
  const add = (said: Said) => problems.set(said.sentence, said);
  mapLeaves(template, (text) => {
    const rest = text.replace(/\{\{([^{}]*)\}\}/g, (placeholder, inner: string) => {
      const name = inner.trim();
      if (ALONE.has(name) && text !== placeholder) {
        add(say('template.alone', { placeholder: `{{${name}}}` }));
      } else if (!Object.hasOwn(MESSAGE_VARIABLES, name) && name !== MEDIA_VARIABLE) {
        const names = VARIABLE_NAMES.join(', ');
        add(say('template.unknown-variable', { placeholder: shortened(placeholder), names }));
      }
      return '';
    });
    const open = /\{\{[\s\S]*/.exec(rest)?.[0];
    if (open !== undefined) add(say('template.open', { text: shortened(open) }));
    return text;
  });
  return [...problems.values()];
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/**
 * The messages that go along with another one as lines, `"Ana": hello`, for an agent that reads text; undefined for none. The
 * owner's name alone has no quotes, so that nobody else can write as the owner.
 */
export function contextText(context: readonly ContextMessage[] = []): string | undefined {
  if (context.length === 0) return undefined;
  const lines = context.map(({ by, name, text }) =>
    by === 'owner' ? `${OWNER_NAME}: ${indented(text)}` : lineOfPerson(name, text),
  );
  return ['Earlier messages in this chat, for information:', ...lines].join('\n');
}
