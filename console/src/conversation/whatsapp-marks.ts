/** A part of a text with WhatsApp's marks. */
export type Span =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'block'; text: string }
  | { kind: 'bold' | 'italic' | 'strike'; spans: Span[] };

const MARKS = { '*': 'bold', _: 'italic', '~': 'strike' } as const;
type Mark = keyof typeof MARKS;

/** Longest marked part: the search for its end takes no longer. */
const MAX_CHARS = 2_000;

/** Marks within marks; a phone shows no more. */
const MAX_DEPTH = 3;

/**
 * The text as a phone shows it: `*bold*`, `_italic_`, `~strike~`, `` `code` `` and blocks of code. A mark counts when it
 * stands at the edge of a word and its other one is on the same line; any other sign stays as it is.
 */
export function spansOf(text: string, depth = 0): Span[] {
  const spans: Span[] = [];
  let from = 0;
  let at = 0;
  const add = (end: number, next: number, span: Span) => {
    if (end > from) spans.push({ kind: 'text', text: text.slice(from, end) });
    spans.push(span);
    from = next;
    at = next;
  };
  while (at < text.length) {
    const sign = text[at] ?? '';
    if (text.startsWith('```', at)) {
      const end = text.indexOf('```', at + 3);
      if (end > at + 3) {
        add(at, end + 3, { kind: 'block', text: text.slice(at + 3, end).replace(/^\n/, '') });
        continue;
      }
    } else if (sign === '`' || Object.hasOwn(MARKS, sign)) {
      const end = closingOf(text, at);
      if (end !== undefined && (sign === '`' || depth < MAX_DEPTH)) {
        const inner = text.slice(at + 1, end);
        const span: Span =
          sign === '`'
            ? { kind: 'code', text: inner }
            : { kind: MARKS[sign as Mark], spans: spansOf(inner, depth + 1) };
        add(at, end + 1, span);
        continue;
      }
    }
    at += 1;
  }
  if (from < text.length) spans.push({ kind: 'text', text: text.slice(from) });
  return spans;
}

/** The text without its marks, for one line. */
export function plainOf(text: string): string {
  const words = (spans: readonly Span[]): string =>
    spans.map((span) => ('spans' in span ? words(span.spans) : span.text)).join('');
  return words(spansOf(text));
}

/** Where the mark that begins at `at` ends; undefined when it begins nothing. */
function closingOf(text: string, at: number): number | undefined {
  const sign = text[at] ?? '';
  if (isWord(text[at - 1]) || !isInk(text[at + 1]) || text[at + 1] === sign) return undefined;
  const last = Math.min(text.length, at + MAX_CHARS);
  for (let end = at + 2; end < last && text[end] !== '\n'; end += 1) {
    if (text[end] === sign && isInk(text[end - 1]) && !isWord(text[end + 1])) return end;
  }
  return undefined;
}

function isWord(sign: string | undefined): boolean {
  return sign !== undefined && /[\p{L}\p{N}]/u.test(sign);
}

function isInk(sign: string | undefined): boolean {
  return sign !== undefined && /\S/.test(sign);
}
