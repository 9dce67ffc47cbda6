import type { AgentResponse } from '../models.ts';
import { type Said, say } from '../phrases.ts';
import type { FormatReply, Speech } from '../ports/converters.ts';
import type { Pictures } from '../ports/media.ts';
import { type ReplyContent, repliesOf } from '../turns/turn.ts';
import type { ConversationSettings } from './conversation-fields.ts';
import { filterEgress, type Removed } from './egress-filter.ts';
import type { ChatSettings } from './settings.ts';

/** What the shape of an answer follows from, besides its route. */
export interface ReplyShaping {
  /** The default of all routes. @throws {StorageUnavailableError} */
  conversation(): Promise<ConversationSettings>;
  formatReply: FormatReply;
  /** Absent: pictures in Markdown and files named by URL stay text. */
  pictures?: Pictures;
  /** Absent: every answer is text. */
  speech?: Speech;
  /** A new secret that opens the votes of a poll, base64. */
  pollSecret(): string;
}

/** What was done to an agent's answer, for the trace of its message. Absent from the trace: nothing. */
export interface ReplyStep extends Said {
  step: 'egress-filter' | 'reply' | 'pictures' | 'files' | 'special' | 'voice';
  outcome: 'cut' | 'withheld' | 'split' | 'formatted' | 'loaded' | 'spoken' | 'too-long' | 'failed';
  removed?: Removed[];
  messages?: number;
}

/** The answer of an agent as it goes to the chat. `isWithheld`: it had a text, of which nothing may leave. */
export interface ShapedReply {
  replies: ReplyContent[];
  steps: ReplyStep[];
  isWithheld: boolean;
}

/**
 * The replies for an agent's answer: what must not leave is removed, Markdown converted, a long text split. Pure.
 * The text of an agent that does not write Markdown (`AgentResponse.isPlain`) keeps its form.
 * @param mayBeCaption as `repliesOf`
 */
export function shapeReply(
  response: AgentResponse,
  { reply, egressFilter }: Pick<ChatSettings, 'reply' | 'egressFilter'>,
  format: FormatReply,
  mayBeCaption = true,
): ShapedReply {
  const said = response.response?.trim() ? response.response : '';
  const steps: ReplyStep[] = [];
  const { text, removed } = egressFilter === 'on' ? filterEgress(said) : { text: said, removed: [] };
  if (removed.length > 0) steps.push(filterStep(removed, text === ''));
  const formatted = response.isPlain || text === '' ? text : format(text, reply.format);
  if (formatted !== text) {
    const sentence = say('answer.formatted');
    steps.push({ step: 'reply', outcome: 'formatted', ...sentence });
  }
  const replies = repliesOf({ ...response, response: formatted }, mayBeCaption).flatMap((content) =>
    content.media || content.special ? [content] : split(content, reply.maxChars, steps),
  );
  return { replies, steps, isWithheld: said !== '' && text === '' };
}

function split({ text }: ReplyContent, maxChars: number, steps: ReplyStep[]): ReplyContent[] {
  if (text.length <= maxChars) return [{ text }];
  const chunks = chunksOf(text, maxChars).flatMap((chunk) => {
    const shown = chunk.replace(/^\n+/, '').trimEnd();
    return shown === '' ? [] : [{ text: shown }];
  });
  const sentence = say('answer.split', { characters: text.length, messages: chunks.length });
  steps.push({ step: 'reply', outcome: 'split', messages: chunks.length, ...sentence });
  return chunks;
}

function filterStep(removed: Removed[], isWithheld: boolean): ReplyStep {
  const what = removed.map(({ kind, count }) => `${kind} (${count})`).join(', ');
  return {
    step: 'egress-filter',
    outcome: isWithheld ? 'withheld' : 'cut',
    removed,
    ...say(isWithheld ? 'answer.withheld' : 'answer.filtered', { kinds: what }),
  };
}

/** Before a cut inside a text without spaces, the characters in which the start of a grapheme is looked for. */
const GRAPHEME_WINDOW = 1_000;
/** A boundary in the first part of a chunk is not used while a lesser one stands further back. */
const MIN_SHARE = 0.3;

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n]*$/gm;
const graphemes = new Intl.Segmenter();

/**
 * Splits a text into chunks of at most `maxChars` UTF-16 units, each as long as a good boundary allows: a paragraph, a line,
 * a sentence, a word, a grapheme. A code block is not split unless it alone is longer than a chunk: then it is split between
 * lines. A fence, and the marks and the `>` of a line that is split, are closed and opened again around the split.
 * Without marks, the chunks concatenated are the text.
 * @param maxChars at least 100
 */
export function chunksOf(text: string, maxChars: number): string[] {
  if (text.length <= maxChars) return [text];
  const fences = fencesOf(text);
  const spans = spansOf(text);
  const room = spans.length > 0 ? MAX_MARKS_CHARS : 0;
  const chunks: string[] = [];
  let start = 0;
  let opening = '';
  /** The spans that begin before `next` and end after `start`. One may contain all others, so they are carried along. */
  let open: Span[] = [];
  let next = 0;
  while (text.length - start + opening.length > maxChars) {
    const fence = lastBefore(fences, start + 1);
    if (fence && start < fence.to && fence.to - start > maxChars) {
      const rest = splitFence(text.slice(start, fence.to), fence.mark, maxChars);
      chunks.push(...rest);
      start = fence.to;
      continue;
    }
    const limit = start + maxChars - opening.length - room;
    const cut = cutBetween(text, start, limit, fences);
    open = open.filter(({ to }) => to > start);
    for (let span = spans[next]; span && span.from < cut; span = spans[++next]) open.push(span);
    const near = open.filter(({ from, to }) => from < cut && to > cut - MAX_MARKS_CHARS);
    const end = outsideMark(near, cut, start);
    const split = near.filter(({ from, to }) => from < end && end < to);
    const chunk = text.slice(start, end);
    const shown = chunk.trimEnd();
    const closing = split.map(({ mark }) => (mark === QUOTE ? '' : mark)).reverse();
    chunks.push(opening + shown + closing.join('') + chunk.slice(shown.length));
    opening = split.map(({ mark }) => mark).join('');
    start = end;
  }
  if (start < text.length) chunks.push(opening + text.slice(start));
  return chunks;
}

/** Marks of a split, at its start and at its end. */
const MAX_MARKS_CHARS = 16;
const QUOTE = '> ';
const MARKS = '*_~`';

/** What begins and ends in one line: words between marks, and a quote. */
interface Span {
  from: number;
  to: number;
  mark: string;
}

/** The spans of a text, outer ones before inner ones. Reads the text once. */
function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    const isQuote = line.startsWith(QUOTE);
    if (isQuote) spans.push({ from: start, to: start + line.length, mark: QUOTE });
    const open: Span[] = [];
    for (let at = isQuote ? QUOTE.length : 0; at < line.length; ) {
      const mark = markAt(line, at);
      const end = at + Math.max(mark.length, 1);
      const isInCode = open.at(-1)?.mark.startsWith('`') && open.at(-1)?.mark !== mark;
      if (mark !== '' && mark.length <= 3 && !isInCode) {
        const index = open.findIndex((span) => span.mark === mark);
        const isAtStart = !isWord(line[at - 1]) && !isSpace(line[end]);
        if (index >= 0 && !isSpace(line[at - 1]) && !isWord(line[end])) {
          const span = open[index] as Span;
          spans.push({ ...span, to: start + end });
          open.length = index;
        } else if (index < 0 && isAtStart && open.length < 3) {
          open.push({ from: start + at, to: start + line.length, mark });
        }
      }
      at = end;
    }
    start += line.length + 1;
  }
  return spans.sort((one, other) => one.from - other.from);
}

/** A run of one mark. */
function markAt(line: string, at: number): string {
  const character = line.charAt(at);
  if (!MARKS.includes(character)) return '';
  let end = at + 1;
  while (line[end] === character) end += 1;
  return line.slice(at, end);
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}

function isSpace(character: string | undefined): boolean {
  return character === undefined || character.trim() === '';
}

/** A cut that is not between a mark and its words. */
function outsideMark(spans: readonly Span[], cut: number, start: number): number {
  const touched = spans.find(({ from, to, mark }) => {
    const isAtStart = from < cut && cut <= from + mark.length;
    return isAtStart || (mark !== QUOTE && to - mark.length <= cut && cut < to);
  });
  return touched && touched.from > start ? touched.from : cut;
}

interface Fence {
  from: number;
  /** After its last line. */
  to: number;
  mark: string;
}

/** Code blocks between fences; one that is not closed ends with the text. */
function fencesOf(text: string): Fence[] {
  const fences: Fence[] = [];
  let open: { from: number; mark: string } | undefined;
  for (const match of text.matchAll(FENCE)) {
    const [line, mark = ''] = match;
    if (!open) open = { from: match.index, mark };
    else if (mark[0] === open.mark[0] && mark.length >= open.mark.length && line.trim() === mark) {
      fences.push({ ...open, to: Math.min(match.index + line.length + 1, text.length) });
      open = undefined;
    }
  }
  return open ? [...fences, { ...open, to: text.length }] : fences;
}

/** The last code block that begins before a place. */
function lastBefore(fences: readonly Fence[], at: number): Fence | undefined {
  let low = 0;
  let high = fences.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((fences[middle] as Fence).from < at) low = middle + 1;
    else high = middle;
  }
  return fences[low - 1];
}

/** Where a chunk that begins at `start` ends, at most at `limit`, and not inside a fence unless it begins there. */
function cutBetween(text: string, start: number, limit: number, fences: readonly Fence[]): number {
  const fence = lastBefore(fences, limit);
  if (fence && fence.from > start && fence.to > limit) return fence.from;
  const isAllowed = (at: number) => at >= (lastBefore(fences, at)?.to ?? 0);
  const window = text.slice(start, limit);
  const least = Math.floor(window.length * MIN_SHARE);
  for (const boundary of BOUNDARIES) {
    const at = lastMatch(window, boundary, (found) => found > least && isAllowed(start + found));
    if (at !== undefined) return start + at;
  }
  return start + graphemeStart(text.slice(start, limit + GRAPHEME_WINDOW), window.length);
}

/** From the best; each matches up to the place where the next chunk begins. */
const BOUNDARIES = [/\n[ \t]*\n\s*/g, /\n+/g, /[.!?…]["')\]»”]*\s+|[。！？]/g, /\s+/g];

/** The end of the last match whose end is accepted and where a grapheme begins. */
function lastMatch(
  window: string,
  boundary: RegExp,
  isAccepted: (end: number) => boolean,
): number | undefined {
  const ends = [...window.matchAll(boundary)].map((match) => match.index + match[0].length);
  return ends.findLast((end) => isAccepted(end) && graphemeStart(window, end) === end);
}

/** The start of the grapheme that a cut at `at` would split; `at` when it splits none. */
function graphemeStart(text: string, at: number): number {
  if (at >= text.length) return at;
  // A grapheme does not go on after a plain character and a plain one following it.
  let from = Math.max(0, at - GRAPHEME_WINDOW);
  for (let index = at - 1; index > from; index--) {
    if (isPlain(text, index) && isPlain(text, index - 1)) from = index;
  }
  const found = graphemes.segment(text.slice(from, at + GRAPHEME_WINDOW)).containing(at - from);
  const start = from + (found?.index ?? at - from);
  return start > 0 ? start : at;
}

function isPlain(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0x20 && code < 0x7f;
}

/** A code block that is longer than a chunk, as several code blocks; a line that is too long is split between graphemes. */
function splitFence(block: string, mark: string, maxChars: number): string[] {
  const lines = block.split(/(?<=\n)/);
  const hasEnd = lines.length > 1 && lines.at(-1)?.trim() === mark;
  const inner = lines.slice(1, hasEnd ? -1 : undefined);
  const room = maxChars - 2 * (mark.length + 2);
  const blocks: string[] = [];
  let part = '';
  for (const line of inner.flatMap((whole) => pieces(whole, room))) {
    if (part !== '' && part.length + line.length > room) {
      blocks.push(part);
      part = '';
    }
    part += line;
  }
  blocks.push(part);
  return blocks.map((code) => `${mark}\n${code.endsWith('\n') ? code : `${code}\n`}${mark}\n`);
}

function pieces(line: string, maxChars: number): string[] {
  const found: string[] = [];
  let rest = line;
  while (rest.length > maxChars) {
    const at = graphemeStart(rest, maxChars);
    found.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  return [...found, rest];
}
