import { isSpecial, readSpecial, SPECIAL_TYPE } from '../delivery/agent-special.ts';
import { textOfSpecial } from '../delivery/special-message.ts';
import { Wa2aiError } from '../errors.ts';
import type { AgentResponse, IncomingMessage } from '../models.ts';
import { say } from '../phrases.ts';
import { isVoiceReply, MAX_VOICE_CHARS, type VoiceSettings } from '../policies/conversation-fields.ts';
import { type ReplyShaping, type ReplyStep, type ShapedReply, shapeReply } from '../policies/reply.ts';
import type { ChatSettings } from '../policies/settings.ts';
import { withLinkedFiles, withPictures } from './load-media.ts';
import type { ReplyContent } from './turn.ts';

export interface ShapeAnswerOptions {
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
