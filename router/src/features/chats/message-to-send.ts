import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { jidOfChannelId } from '../../core/chat-id.ts';
import type { WantedFile } from '../../core/delivery/agent-file.ts';
import type { SendMessageInput } from '../../core/delivery/send-message.ts';
import { type SpecialMessage, textOfSpecial } from '../../core/delivery/special-message.ts';
import type { MediaKind } from '../../core/models.ts';
import { issueOf, PHRASES, type Said, say } from '../../core/phrases.ts';
import type { MessageLog, ReceivedMessage, SentMessageRow } from '../../core/ports/message-log.ts';
import { hasCaption, MAX_CAPTION_CHARS } from '../../core/turns/turn.ts';
import {
  accountIdField,
  chatField,
  personField,
  phoneField,
  rowIdField,
} from '../../infra/operations/fields.ts';
import { type FormPart, UploadedFile } from '../../infra/operations/form.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';

/** WhatsApp shows about three lines of a quoted text. */
const MAX_QUOTE_CHARS = 300;

const shortText = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((text) => text.trim() !== '', PHRASES['field.not-blank']);

const location = z.strictObject({
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  name: shortText(200).optional(),
  address: shortText(1_000).optional(),
});

const contact = z.strictObject({ name: shortText(200), phone: phoneField });

const poll = z
  .strictObject({
    question: shortText(255),
    options: z
      .array(shortText(100))
      .min(2)
      .max(12)
      .refine((options) => new Set(options).size === options.length, PHRASES['field.different']),
    selectable: z.int().min(0).max(12).default(1).describe('How many may be chosen. 0: any number.'),
  })
  .refine(({ selectable, options }) => selectable <= options.length, {
    path: ['selectable'],
    error: PHRASES['field.options-max'],
  })
  .describe("A person's choice is answered as a message with the text of the chosen options.");

const reaction = z.strictObject({
  to: rowIdField.describe('Id of a message of the chat, received or sent.'),
  emoji: z.string().max(20).describe('Empty: removes the reaction.'),
});

const fileUrl = z
  .string()
  .max(4_096)
  .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), PHRASES['field.http-or-https-url'])
  .meta({ format: 'uri' })
  .describe('Address of the file. It is loaded before the request is answered.');

const uploadedFile = z
  .custom<UploadedFile>((value) => value instanceof UploadedFile, PHRASES['field.url-or-file'])
  .meta({
    override: { type: 'string', format: 'binary', description: 'In multipart/form-data: the file itself.' },
  });

const file = z.union([z.strictObject({ url: fileUrl }), uploadedFile], {
  error: PHRASES['field.url-or-file'],
});
const document = z.union(
  [z.strictObject({ url: fileUrl, fileName: shortText(200).optional() }), uploadedFile],
  { error: PHRASES['field.document'] },
);

const FILES = ['image', 'video', 'audio', 'voice', 'document', 'sticker'] as const satisfies MediaKind[];

/** Fields that say what the message is; a text may quote, and replaces another one with `edit`. */
const KINDS = ['text', ...FILES, 'location', 'contacts', 'poll', 'react', 'delete'] as const;

/** The body of `POST /api/messages`. */
export const messageToSend = z
  .strictObject({
    accountId: accountIdField.optional(),
    channelId: chatField.describe('The chat: a phone number with country code, a JID or a group id.'),
    text: shortText(65_536).optional().describe('With a picture, a video or a document, its caption.'),
    image: file.optional().describe('A JPEG or PNG picture.'),
    video: file.optional().describe('An MP4 or 3GP video.'),
    audio: file.optional().describe('An MP3, M4A, AAC, AMR or OGG (Opus) file.'),
    voice: file
      .optional()
      .describe('A voice note: Opus in OGG; other formats are converted where ffmpeg is installed.'),
    document: document.optional().describe('Any file.'),
    sticker: file.optional().describe('A WebP picture of at most 1 MB, best 512 × 512.'),
    location: location.optional(),
    contacts: z.array(contact).min(1).max(20).optional(),
    poll: poll.optional(),
    react: reaction.optional(),
    delete: rowIdField.optional().describe('Id of a message sent: it is deleted for everyone.'),
    edit: rowIdField.optional().describe('Id of a text sent, which `text` replaces.'),
    quote: rowIdField.optional().describe('Id of a message of the chat that the text or file answers.'),
    mentions: z
      .array(personField)
      .min(1)
      .max(100)
      .optional()
      .describe('People who are notified: numbers or LIDs. The text names each as `@` and its digits.'),
    byHand: z
      .boolean()
      .optional()
      .describe(
        'A person wrote it: the chat is paused as after a message of the owner on the phone (`takeover`). Default: false.',
      ),
  })
  .superRefine((body, context) => {
    const kinds = KINDS.filter((kind) => body[kind] !== undefined);
    const attached = FILES.find((kind) => body[kind] !== undefined);
    const isCaption = attached !== undefined && body.text !== undefined;
    if (kinds.length !== (isCaption ? 2 : 1)) {
      const mistake = say('field.exactly-one-kind', { kinds: KINDS.join(', ') });
      context.addIssue({ code: 'custom', ...issueOf(mistake) });
    }
    const refuse = (field: string, mistake: Said) =>
      context.addIssue({ code: 'custom', path: [field], ...issueOf(mistake) });
    if (isCaption && !hasCaption(attached)) refuse('text', say('field.not-shown-with', { what: attached }));
    if (isCaption && (body.text ?? '').length > MAX_CAPTION_CHARS) {
      refuse('text', say('field.caption-chars', { max: MAX_CAPTION_CHARS }));
    }
    if (body.edit !== undefined && (body.text === undefined || attached))
      refuse('edit', say('field.of-text'));
    if (body.quote !== undefined && body.text === undefined && !attached) {
      refuse('quote', say('field.of-text-or-file'));
    }
    for (const person of body.mentions ?? []) {
      const tag = tagOf(person);
      if (!body.text?.includes(tag)) refuse('mentions', say('field.needs-in-text', { what: tag }));
    }
    for (const field of ['quote', 'mentions'] as const) {
      if (body.edit === undefined || body[field] === undefined) continue;
      refuse(field, say('field.not-by-edit'));
    }
  })
  .meta({
    id: 'MessageToSend',
    examples: [
      { channelId: '+54 9 3777 239922', text: 'Your order is on its way.' },
      {
        channelId: '+54 9 3777 239922',
        image: { url: 'https://example.com/menu.jpg' },
        text: 'Our menu of today',
      },
      { channelId: '+54 9 3777 239922', poll: { question: 'When?', options: ['Monday', 'Tuesday'] } },
    ],
  });

type MessageToSend = z.output<typeof messageToSend>;

type Row = ReceivedMessage | SentMessageRow;

/** The body that a form stands for: its parts have the names of the fields, the file that of its kind. */
export function bodyOfForm(parts: readonly FormPart[]): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const mentions: unknown[] = [];
  for (const { name, value } of parts) {
    if (name === 'mentions') mentions.push(value);
    else if (name === 'byHand') body[name] = value === 'true' || (value === 'false' ? false : value);
    else body[name] = value;
  }
  return mentions.length > 0 ? { ...body, mentions } : body;
}

/** The file of a body, and the kind as which it is sent. */
export function fileOf(body: MessageToSend): { kind: MediaKind; wanted: WantedFile } | undefined {
  const kind = FILES.find((each) => body[each] !== undefined);
  const wanted = kind && body[kind];
  return wanted && { kind, wanted };
}

/** How a text names a person whom it mentions. */
function tagOf(channelId: string): string {
  return `@${channelId.split('@')[0]}`;
}

/**
 * The message of a body: its text, what it is besides a text, and the message that it quotes.
 * @param isOfChat whether a message belongs to the chat of the body
 * @throws {HttpProblem} 404: a message that it refers to is not in the chat
 */
export async function readMessageToSend(
  body: MessageToSend,
  log: Pick<MessageLog, 'message' | 'sentMessage'>,
  isOfChat: (row: Row) => boolean,
  nowMs: number,
): Promise<Pick<SendMessageInput, 'text' | 'special' | 'quote' | 'mentions'>> {
  const rowOf = async (field: string, id: string, isSent: boolean): Promise<Row> => {
    const row = (isSent ? undefined : await log.message(id)) ?? (await log.sentMessage(id));
    if (row && isOfChat(row)) return row;
    const what = say(isSent ? 'message.sent' : 'message.of-chat');
    throw new HttpProblem(404, 'NOT_FOUND', say('problem.field-unknown', { field, what }));
  };
  const mentions = body.mentions?.map((person) => jidOfChannelId(person) ?? person);
  if (body.quote !== undefined) {
    const row = await rowOf('quote', body.quote, false);
    const from = row.direction === 'incoming' ? row.from : undefined;
    if (!from) throw new HttpProblem(404, 'NOT_FOUND', say('problem.quote-unknown'));
    const quote = { waMessageId: row.waMessageId, from, text: row.text.slice(0, MAX_QUOTE_CHARS) };
    return { text: body.text ?? '', quote, ...(mentions && { mentions }) };
  }
  const special = await specialOf(body, rowOf, nowMs);
  return {
    text: body.text ?? (special ? textOfSpecial(special) : ''),
    ...(special && { special }),
    ...(mentions && { mentions }),
  };
}

async function specialOf(
  { location, contacts, poll, react, edit, delete: deleted }: MessageToSend,
  rowOf: (field: string, id: string, isSent: boolean) => Promise<Row>,
  nowMs: number,
): Promise<SpecialMessage | undefined> {
  if (location) return { kind: 'location', ...location };
  if (contacts) return { kind: 'contacts', contacts };
  if (poll) return { kind: 'poll', ...poll, secret: randomBytes(32).toString('base64') };
  if (react) {
    const row = await rowOf('react.to', react.to, false);
    const from = row.direction === 'incoming' ? (row.fromLid ?? row.from) : undefined;
    return { kind: 'reaction', emoji: react.emoji, of: row.waMessageId, ...(from && { from }), atMs: nowMs };
  }
  if (edit !== undefined)
    return { kind: 'edit', of: (await rowOf('edit', edit, true)).waMessageId, atMs: nowMs };
  if (deleted !== undefined)
    return { kind: 'deletion', of: (await rowOf('delete', deleted, true)).waMessageId };
  return undefined;
}
