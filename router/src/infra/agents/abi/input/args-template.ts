import { contractUser } from '../../../../core/chat-id.ts';
import type { IncomingMessage } from '../../../../core/models.ts';
import { shortened } from '../codec/abi-type.ts';
import { type AbiInput, AbiInputError, ANYTHING, FileInput } from './abi-input.ts';

/** Variables of argument templates, by the name in `{{name}}`. */
const VARIABLES: Record<string, (message: IncomingMessage) => AbiInput> = {
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
  mediaType: ({ media }) => media?.mimeType ?? '',
  fileName: ({ media }) => media?.fileName ?? '',
};

/** Variable for the bytes of the message's file. */
const MEDIA = 'media';

/** Variables that cannot be part of a longer text. */
const ALONE = new Set([MEDIA, 'mentions']);

/** Variables with text of a person, which may become a value of any type. */
const FREE = new Set(['text', 'quotedText', 'name']);

/** Names of the variables, for messages. */
const VARIABLE_NAMES = [...Object.keys(VARIABLES), MEDIA];

const PLACEHOLDER = /\{\{\s*([\w.]+)\s*\}\}/g;
const SOLE_PLACEHOLDER = /^\{\{\s*([\w.]+)\s*\}\}$/;
const MAX_DEPTH = 32;

/**
 * The template with its placeholders replaced. A text that is only a placeholder gets the type of the variable:
 * `{{timestamp}}` is a number, `{{mentions}}` a list of `{ id, tag, name }` and `{{media}}` the file.
 * @throws {AbiInputError} the template needs a file and the message has none
 */
export function fillTemplate(template: unknown, message: IncomingMessage, file?: FileInput): AbiInput {
  return fill(template, (text) => {
    const sole = SOLE_PLACEHOLDER.exec(text)?.[1];
    if (sole === MEDIA) {
      if (file) return file;
      throw new AbiInputError('Please send a picture, a voice message or another file with your message');
    }
    if (sole) return VARIABLES[sole]?.(message);
    return text.replace(PLACEHOLDER, (_, name: string) => String(VARIABLES[name]?.(message) ?? ''));
  });
}

/** The template with typical values, and `ANYTHING` for text of a person; used to check types when a route is saved. */
export function sampleOf(template: unknown): AbiInput {
  return fill(template, (text) => {
    const isFree = [...text.matchAll(PLACEHOLDER)].some(([, name]) => FREE.has(name ?? ''));
    return isFree ? ANYTHING : fillTemplate(text, SAMPLE_MESSAGE, new FileInput('<a file>'));
  });
}

/** Mistakes in the placeholders of a template, one sentence each: unknown variables and braces that are not closed. */
export function placeholderProblems(template: unknown): string[] {
  const problems = new Set<string>();
  fill(template, (text) => {
    const rest = text.replace(/\{\{([^{}]*)\}\}/g, (placeholder, inner: string) => {
      const name = inner.trim();
      if (ALONE.has(name) && text !== placeholder) {
        problems.add(`puts {{${name}}} into other text; use it alone`);
      } else if (!Object.hasOwn(VARIABLES, name) && name !== MEDIA) {
        problems.add(`uses ${shortened(placeholder)}; the variables are ${VARIABLE_NAMES.join(', ')}`);
      }
      return '';
    });
    const open = /\{\{[\s\S]*/.exec(rest)?.[0];
    if (open !== undefined) problems.add(`has '${shortened(open)}' without }}`);
    return text;
  });
  return [...problems];
}

/** A message in a group: its channelId is not a number, so a template cannot rely on a number. */
const SAMPLE_MESSAGE: IncomingMessage = {
  id: '3EB0AAAAAAAAAAAAAAAAAA',
  from: '34600000000@s.whatsapp.net',
  channelId: '120363000000000000@g.us',
  text: '',
  timestamp: new Date(1_700_000_000_000),
  mentions: [{ id: '34600000000@s.whatsapp.net', tag: '@34600000000', name: 'Ana' }],
};

function fill(template: unknown, leaf: (text: string) => AbiInput, depth = 0): AbiInput {
  if (typeof template === 'string') return leaf(template);
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(template)) return template.map((item) => fill(item, leaf, depth + 1));
  if (typeof template !== 'object' || template === null) return template as AbiInput;
  return Object.fromEntries(
    Object.entries(template).map(([key, item]) => [key, fill(item, leaf, depth + 1)]),
  );
}
