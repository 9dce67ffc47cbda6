/** Before a cut inside a text without spaces, the characters in which the start of a grapheme is looked for. */
const GRAPHEME_WINDOW = 1_000;
/** A boundary in the first part of a chunk is not used while a lesser one stands further back. */
const MIN_SHARE = 0.3;

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n]*$/gm;
const graphemes = new Intl.Segmenter();

/**
 * Splits a text into chunks of at most `maxChars` UTF-16 units, each as long as a good boundary allows: a paragraph, a line,
 * a sentence, a word, a grapheme. Concatenated, the chunks are the text. A code block is not split unless it alone is longer
 * than a chunk: then it is split between lines, and its fence is closed and opened again around the split.
 * @param maxChars at least 100
 */
export function chunksOf(text: string, maxChars: number): string[] {
  if (text.length <= maxChars) return [text];
  const fences = fencesOf(text);
  const chunks: string[] = [];
  let start = 0;
  while (text.length - start > maxChars) {
    const fence = lastBefore(fences, start + 1);
    if (fence && start < fence.to && fence.to - start > maxChars) {
      const rest = splitFence(text.slice(start, fence.to), fence.mark, maxChars);
      chunks.push(...rest);
      start = fence.to;
      continue;
    }
    const end = cutBetween(text, start, start + maxChars, fences);
    chunks.push(text.slice(start, end));
    start = end;
  }
  if (start < text.length) chunks.push(text.slice(start));
  return chunks;
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
