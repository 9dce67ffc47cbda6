import { z } from 'zod';
import { type SpecialMessage, textOfSpecial } from '../delivery/special-message.ts';
import { Wa2aiError } from '../errors.ts';
import type { AgentResponse, IncomingMessage, ReplyFile } from '../models.ts';
import { PHRASES, say } from '../phrases.ts';
import { isVoiceReply, type VoiceSettings } from '../policies/conversation-fields.ts';
import { type ReplyShaping, type ReplyStep, type ShapedReply, shapeReply } from '../policies/reply.ts';
import type { ChatSettings } from '../policies/settings.ts';
import { withLinkedFiles, withPictures } from './load-media.ts';
import type { ReplyContent } from './turn.ts';

/** Longest answer that is spoken, in characters, where the settings do not say it. */
const MAX_VOICE_CHARS = 1_000;

interface ShapeAnswerOptions {
  conversation: ChatSettings;
  /** The message that is answered, as far as it is known. */
  asked?: Pick<IncomingMessage, 'media'> | undefined;
  /** False: the text is a message in any case. */
  mayBeCaption?: boolean;
  /** False: the answer stays text. */
  mayBeVoice?: boolean;
  /** A location, contacts and a poll are sent as such; else their description. */
  isOfTurn?: boolean;
  signal?: AbortSignal;
}

/**
 * The answer of an agent as it goes to the chat: pictures and files that it names by URL are loaded, its text is filtered,
 * converted and split, or spoken where the settings of the route want that. What cannot be loaded or spoken stays text.
 * @throws the signal's reason when it aborts
 */
export async function shapeAnswer(
  deps: ReplyShaping,
  answer: AgentResponse,
  options: ShapeAnswerOptions,
): Promise<ShapedReply> {
  const { conversation, asked, mayBeCaption = true, mayBeVoice = true, signal } = options;
  const { reply } = conversation;
  const { files, specials, refused } = separated(deps, answer, options.isOfTurn ?? false);
  const seen = await withPictures(deps.pictures, files, reply.imageHosts, signal);
  const linked = await withLinkedFiles(deps.pictures?.files, seen.response, reply.fileHosts, signal);
  const shape = shapeReply(linked.response, conversation, deps.formatReply, mayBeCaption);
  const shaped = { ...shape, replies: [...shape.replies, ...specials] };
  const steps = [...refused, ...seen.steps, ...linked.steps];
  if (!mayBeVoice || !isVoiceReply(reply.voice, asked))
    return { ...shaped, steps: [...steps, ...shaped.steps] };
  const spoken = await speak(deps, linked.response, conversation, reply.voice, signal);
  if (Array.isArray(spoken)) return { ...shaped, steps: [...steps, ...shaped.steps, ...spoken] };
  return { ...spoken, replies: [...spoken.replies, ...specials], steps: [...steps, ...spoken.steps] };
}

/** The answer without the files that are a location, contacts or a poll, and those as replies, which come last. */
function separated(
  { pollSecret }: ReplyShaping,
  answer: AgentResponse,
  isOfTurn: boolean,
): { files: AgentResponse; specials: ReplyContent[]; refused: ReplyStep[] } {
  const given = answer.files ?? [];
  if (!given.some(isSpecial)) return { files: answer, specials: [], refused: [] };
  const files = given.filter((file) => !isSpecial(file));
  const read = given.filter(isSpecial).map((file) => readSpecial(file, pollSecret()));
  const specials = read.flatMap((special) =>
    special ? [{ text: textOfSpecial(special), ...(isOfTurn && { special }) }] : [],
  );
  const sentence = say('answer.unknown-special', { type: SPECIAL_TYPE });
  const refused = read.includes(undefined)
    ? [{ step: 'special', outcome: 'failed', ...sentence } as const]
    : [];
  return { files: { ...answer, files }, specials, refused };
}

/** The answer with its text as a voice message, before its files; else why it stays text. */
async function speak(
  { speech, formatReply }: ReplyShaping,
  answer: AgentResponse,
  { reply, egressFilter }: ChatSettings,
  voice: VoiceSettings,
  signal: AbortSignal | undefined,
): Promise<ShapedReply | ReplyStep[]> {
  const plain = { ...reply, format: 'plain' as const, maxChars: Number.MAX_SAFE_INTEGER };
  const shaped = shapeReply(answer, { reply: plain, egressFilter }, formatReply, false);
  const [first, ...files] = shaped.replies;
  const text = first?.media ? '' : (first?.text.trim() ?? '');
  if (!speech || text === '') return [];
  const { maxChars = MAX_VOICE_CHARS } = voice;
  if (text.length > maxChars) {
    const sentence = say('voice.too-long', { characters: text.length, max: maxChars });
    return [{ step: 'voice', outcome: 'too-long', ...sentence }];
  }
  try {
    const { bytes, ...media } = await speech.voiceNoteOf(text, voice, signal);
    const note = { text: '', media: { ...media, sizeBytes: bytes.length }, file: bytes };
    const step: ReplyStep = { step: 'voice', outcome: 'spoken', ...say('voice.spoken') };
    return { ...shaped, replies: [note, ...files], steps: [...shaped.steps, step] };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof Wa2aiError)) throw error;
    return [{ step: 'voice', outcome: 'failed', ...error.said }];
  }
}

/** The media type of a file that is a location, contacts or a poll, in the place that each protocol has for files. */
const SPECIAL_TYPE = 'application/vnd.wa2ai+json';

const text = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((value) => value.trim() !== '', PHRASES['field.not-blank']);

const location = z.strictObject({
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  name: text(200).optional(),
  address: text(1_000).optional(),
});
const contact = z.strictObject({
  name: text(200),
  phone: z
    .string()
    .transform((phone) => phone.replace(/[\s().+-]/g, ''))
    .refine((digits) => /^[1-9]\d{6,14}$/.test(digits), 'must be a phone number with its country code'),
});
const poll = z
  .strictObject({
    question: text(255),
    options: z
      .array(text(100))
      .min(2)
      .max(12)
      .refine((options) => new Set(options).size === options.length, PHRASES['field.different']),
    selectable: z.int().min(0).max(12).default(1),
  })
  .refine(({ selectable, options }) => selectable <= options.length, {
    path: ['selectable'],
    error: PHRASES['field.options-max'],
  });

/** What such a file contains: the fields of `POST /api/messages`. */
const specialFields = z.union([
  z.strictObject({ location }),
  z.strictObject({ contacts: z.array(contact).min(1).max(20) }),
  z.strictObject({ poll }),
]);

function isSpecial({ mimeType }: Pick<ReplyFile, 'mimeType'>): boolean {
  return mimeType.toLowerCase().startsWith(SPECIAL_TYPE);
}

/**
 * The message that a file of this type is; undefined when it is none.
 * @param secret opens the votes of a poll, base64
 */
function readSpecial({ bytes }: Pick<ReplyFile, 'bytes'>, secret: string): SpecialMessage | undefined {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  const found = specialFields.safeParse(json).data;
  if (!found) return undefined;
  if ('location' in found) return { kind: 'location', ...found.location };
  if ('contacts' in found) return { kind: 'contacts', contacts: found.contacts };
  return { kind: 'poll', ...found.poll, secret };
}
