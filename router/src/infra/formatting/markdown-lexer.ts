import { createContext, Script } from 'node:vm';
import { Lexer, type Token, type Tokens, type TokensList, walkTokens } from 'marked';
import type { MarkdownPicture } from '../../core/ports/media.ts';

/** Longer texts are not parsed. */
const MAX_CHARS = 200_000;
/** Lists and quotes that begin in one line, each inside the one before: the lexer's time grows with the square of them. */
const MAX_NESTING = 11;
/** Of all lines, the marks after the first one. */
const MAX_NESTED = 1_000;
/** Lines that begin an item or a quote. */
const MAX_ITEMS = 3_000;
/** Lines after the first item: marked copies the text of an item with each of its lines. */
const MAX_LINES_AFTER_ITEM = 10_000;
/** Other lines that begin with neither a letter nor a digit: headings, rows of tables, fences. */
const MAX_MARKED_LINES = 4_500;
/** A longer run of one character that is not a letter or a digit is not a writing of a person or a model. */
const MAX_RUN_CHARS = 400;
/** What the lexer may read of blocks: each level of lists and quotes reads its part once more. */
const MAX_BLOCK_READS = 16;
/** A paragraph that is longer, or has more marks, has no inline marks: each mark makes the lexer read the rest. */
const MAX_INLINE_CHARS = 10_000;
const MAX_INLINE_MARKS = 400;
/** Of the words of a paragraph that may have an email address. */
const MAX_WORD_CHARS = 2_000;
/** The square of the marks of each paragraph, summed. */
const MAX_INLINE_WORK = 1_000_000;
/** Lines of an item times its characters, summed: at each line marked looks for the underline of a heading up to the end. */
const MAX_ITEM_WORK = 30_000_000;
/** The limits above keep the lexer far below this; it is for what they do not know. */
const MAX_MS = 1_000;

/** A text without any of these has no inline token besides text: no mark, escape, HTML, address, or line break of Markdown. */
const INLINE_MARKS = /[\\<![\]`*_~@&:]|www\.| {2}\n/i;
/** What makes marked look for an end. */
const MARK_CHARS = '\\<![](`*_~@&:';
/** One line that begins with a letter is not a block besides a paragraph. */
const PLAIN_LINE = /^[A-Za-z][^\n]*$/;

/**
 * The tokens of a Markdown text (GFM), as marked gives them. The time of marked grows with the square of some texts, and with
 * more of others: the work is counted, and stops at a limit that depends on the text alone. A paragraph with too many marks
 * is one token of text.
 * @returns undefined: the text is too long or too nested, or marked does not understand it
 */
export function lexMarkdown(markdown: string): TokensList | undefined {
  if (markdown.length > MAX_CHARS || isTooNested(markdown)) return undefined;
  const lexer = new TextLexer(markdown.length);
  try {
    return inTime(() => lexer.lex(markdown));
  } catch {
    return undefined;
  }
}

const context = createContext({ work: undefined });
const script = new Script('work()');

/** V8 interrupts what runs inside a vm script, expressions included, when the time is over. */
function inTime<Result>(work: () => Result): Result {
  context.work = work;
  try {
    return script.runInContext(context, { timeout: MAX_MS }) as Result;
  } finally {
    context.work = undefined;
  }
}

/** Marks of lists and quotes that follow one another at the start of a line, or a long run of one character. */
function isTooNested(text: string): boolean {
  let run = 0;
  let nesting = 0;
  let items = 0;
  let lines = 0;
  let nested = 0;
  let after = 0;
  let isStart = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    run = code === text.charCodeAt(at - 1) && !isLetterOrDigit(code) ? run + 1 : 1;
    if (run > MAX_RUN_CHARS) return true;
    // marked reads a return as a line break.
    if (code === LINE_BREAK || code === RETURN) {
      nesting = 0;
      isStart = true;
      if (items > 0) after += 1;
      if (after > MAX_LINES_AFTER_ITEM) return true;
    } else if (isStart && code !== SPACE && code !== TAB) {
      const end = containerEnd(text, at);
      if (nesting === 0 && end > at) items += 1;
      else if (nesting === 0 && !isLetterOrDigit(code)) lines += 1;
      if (items > MAX_ITEMS || lines > MAX_MARKED_LINES) return true;
      isStart = end > at;
      if (!isStart) continue;
      nesting += 1;
      if (nesting > 1) nested += 1;
      if (nesting > MAX_NESTING || nested > MAX_NESTED) return true;
      at = end - 1;
    }
  }
  return false;
}

const LINE_BREAK = 10;
const RETURN = 13;
const TAB = 9;
const SPACE = 32;

/** The end of `>`, `-`, `+`, `*`, `12.` or `12)` at this place; `at` when there is none. */
function containerEnd(text: string, at: number): number {
  if ('>-+*'.includes(text.charAt(at))) return at + 1;
  let end = at;
  while (end < at + 9 && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end += 1;
  const isNumber = end > at && (text[end] === '.' || text[end] === ')');
  return isNumber ? end + 1 : at;
}

function isLetterOrDigit(code: number): boolean {
  if (code > 127) return true;
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

/**
 * Does not try all rules on the many short texts that match none, such as cells of tables and items of lists; and counts what
 * marked has to read.
 */
class TextLexer extends Lexer {
  #blockCharsLeft: number;
  #inlineWorkLeft = MAX_INLINE_WORK;
  #itemWorkLeft = MAX_ITEM_WORK;

  constructor(chars: number) {
    super({ gfm: true });
    this.#blockCharsLeft = 1_000 + chars * MAX_BLOCK_READS;
  }

  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
  override blockTokens(src: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
  override blockTokens(src: string, tokens: Token[] = [], lastParagraphClipped?: boolean): Token[] {
    this.#blockCharsLeft -= src.length;
    if (this.#blockCharsLeft < 0) throw new RangeError('too many levels');
    if (!this.state.top) this.#itemWorkLeft -= src.split('\n').length * src.length;
    if (this.#itemWorkLeft < 0) throw new RangeError('too many lines in an item');
    if (this.state.top || !PLAIN_LINE.test(src)) return super.blockTokens(src, tokens, lastParagraphClipped);
    const text: Tokens.Text = { type: 'text', raw: src, text: src, tokens: [] };
    this.inline(src, text.tokens);
    tokens.push(text);
    this.state.top = true;
    return tokens;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (src === '' || (INLINE_MARKS.test(src) && this.#isAffordable(src))) {
      return super.inlineTokens(src, tokens);
    }
    tokens.push({ type: 'text', raw: src, text: src, escaped: this.state.inRawBlock });
    return tokens;
  }

  #isAffordable(src: string): boolean {
    if (src.length > MAX_INLINE_CHARS) return false;
    const maxWordChars = src.includes('@') ? MAX_WORD_CHARS : MAX_INLINE_CHARS;
    let marks = 0;
    let word = 0;
    for (let at = 0; at < src.length; at++) {
      const code = src.charCodeAt(at);
      word = code <= SPACE ? 0 : word + 1;
      if (word > maxWordChars) return false;
      if (code > SPACE && code < 127 && MARK_CHARS.includes(src.charAt(at))) marks += 1;
    }
    if (marks > MAX_INLINE_MARKS) return false;
    this.#inlineWorkLeft -= marks * marks;
    return this.#inlineWorkLeft >= 0;
  }
}

/** The pictures of a Markdown text (`![alt](url)`), in order; none of a text that is too long or nested too deeply. */
export function markdownPictures(markdown: string): MarkdownPicture[] {
  const tokens = markdown.includes('![') ? lexMarkdown(markdown) : undefined;
  const found: MarkdownPicture[] = [];
  const visit = (token: Token) => {
    if (token.type === 'image') found.push({ raw: token.raw, url: (token as Tokens.Image).href });
  };
  if (tokens) walkTokens(tokens, visit);
  return found;
}
