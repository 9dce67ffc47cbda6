import { StreamDecoder } from './text-decoder.ts';

/** Characters of one command's output that are kept: the first and the last half of them. */
const MAX_CHARS = 32 * 1024 * 1024;
/** Where an `expect` pattern is searched: this much at the end of the output. */
const EXPECT_WINDOW = 256 * 1024;

/** The end of a command: the number of the command, and its exit code. */
export interface EndMark {
  number: number;
  exitCode: number;
}

/**
 * Divides what a shell writes into the outputs of its commands. The shell writes a mark with a secret word when it is ready
 * for the next command, so no output of a program can end a command by accident, whatever it contains.
 */
export class SessionOutput {
  readonly #mark: RegExp;
  readonly #markChars: number;
  readonly #decoder = new StreamDecoder();
  #chunks: string[] = [];
  #chars = 0;
  #omitted = 0;
  /** The end of the text that may contain the beginning of a mark. */
  #tail = '';

  /** @param secret a word that no program can guess; letters and digits */
  constructor(secret: string) {
    this.#mark = new RegExp(`\\x1e${secret} (\\d{1,15}) (\\d{1,3})\\x1e`);
    this.#markChars = secret.length + 24;
  }

  /** Takes what the shell wrote. @returns the marks in it, in their order, each with the text before it */
  add(chunk: Buffer): Array<EndMark & { text: string }> {
    const marks: Array<EndMark & { text: string }> = [];
    let text = this.#tail + this.#decoder.decode(chunk);
    for (let found = this.#mark.exec(text); found; found = this.#mark.exec(text)) {
      this.#append(text.slice(0, found.index));
      marks.push({ number: Number(found[1]), exitCode: Number(found[2]), text: this.#takeChunks() });
      text = text.slice(found.index + found[0].length);
    }
    const cut = text.lastIndexOf('\x1e', text.length);
    // only the beginning of a mark has to wait
    const keep = cut >= 0 && text.length - cut < this.#markChars ? text.length - cut : 0;
    this.#append(text.slice(0, text.length - keep));
    this.#tail = text.slice(text.length - keep);
    return marks;
  }

  /** All text so far, and removes it. */
  take(): string {
    const text = this.#takeChunks() + this.#tail + this.#decoder.flush();
    this.#tail = '';
    return text;
  }

  /**
   * Searches the patterns at the end of the text. The first match in the text wins, then the first pattern.
   * @returns the index of the pattern and the text before the match, which is removed with the match
   */
  expect(patterns: readonly RegExp[]): { index: number; text: string } | undefined {
    if (patterns.length === 0) return undefined;
    const all = this.#takeChunks() + this.#tail;
    this.#tail = '';
    const from = Math.max(0, all.length - EXPECT_WINDOW);
    const match = firstMatch(from === 0 ? all : all.slice(from), patterns);
    this.#restore(match ? match.after : all);
    return match && { index: match.index, text: all.slice(0, from) + match.before };
  }

  #restore(text: string): void {
    if (text === '') return;
    this.#chunks.unshift(text);
    this.#chars += text.length;
  }

  #append(text: string): void {
    if (text === '') return;
    this.#chunks.push(text);
    this.#chars += text.length;
    if (this.#chars <= MAX_CHARS * 1.5) return;
    const all = this.#chunks.join('');
    const half = MAX_CHARS / 2;
    const omitted = all.length - MAX_CHARS;
    this.#omitted += omitted;
    this.#chunks = [all.slice(0, half), all.slice(half + omitted)];
    this.#chars = MAX_CHARS;
  }

  #takeChunks(): string {
    const [first = '', ...rest] = this.#chunks;
    const note = `\n[... ${this.#omitted} characters omitted ...]\n`;
    const text = this.#omitted > 0 ? first + note + rest.join('') : this.#chunks.join('');
    this.#chunks = [];
    this.#chars = 0;
    this.#omitted = 0;
    return text;
  }
}

/** The first match of any of the patterns, with the text before and after it. */
export function firstMatch(
  text: string,
  patterns: readonly RegExp[],
): { index: number; before: string; after: string } | undefined {
  let best: { index: number; at: number; end: number } | undefined;
  for (const [index, pattern] of patterns.entries()) {
    const found = pattern.exec(text);
    if (found && (!best || found.index < best.at)) {
      best = { index, at: found.index, end: found.index + found[0].length };
    }
  }
  return best && { index: best.index, before: text.slice(0, best.at), after: text.slice(best.end) };
}

/** Without escape sequences of terminals. */
export function withoutEscapes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ESC begins every such sequence
  return text.replace(/\x1B[@-_][0-?]*[ -/]*[@-~]/g, '');
}
