/** A number with all its digits, not rounded. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Result of `parseExactJson`: JSON whose numbers keep their digits. */
export type ExactJson = string | boolean | null | NumberText | ExactJson[] | { [key: string]: ExactJson };

/** Text that cannot be parsed, even leniently. The message continues a sentence. */
export class ExactJsonError extends Error {}

const MAX_DEPTH = 32;
/** Opening quotes, also those that phone keyboards insert, with the characters that close them. */
const QUOTES = new Map([
  ['"', '"'],
  ['“', '”“"'],
  ['”', '”"'],
  ['„', '“”"'],
  ["'", "'"],
  ['‘', '’'],
  ['«', '»'],
]);
const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Parses JSON as people type it on a phone: accepts curly and single quotes, text without quotes, and a comma before a
 * closing bracket. A number keeps its digits.
 * @throws {ExactJsonError}
 */
export function parseExactJson(text: string): ExactJson {
  const reader = new JsonReader(text);
  const value = reader.value(0);
  reader.end();
  return value;
}

/** Reads one argument of a command from `at`: a quoted text, a bracketed value, or the characters up to the next space. */
export function readToken(text: string, at: number): { token: string; isQuoted: boolean; end: number } {
  const reader = new JsonReader(text, at);
  const first = text[at] ?? '';
  if (QUOTES.has(first)) {
    const token = reader.quoted();
    return { token, isQuoted: true, end: reader.at };
  }
  if (first === '[' || first === '{') {
    reader.value(0);
    return { token: text.slice(at, reader.at), isQuoted: false, end: reader.at };
  }
  const word = /\S+/y;
  word.lastIndex = at;
  const token = word.exec(text)?.[0] ?? '';
  return { token, isQuoted: false, end: at + token.length };
}

class JsonReader {
  readonly #text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.#text = text;
    this.at = at;
  }

  value(depth: number): ExactJson {
    if (depth > MAX_DEPTH) throw new ExactJsonError(`is nested deeper than ${MAX_DEPTH} levels`);
    this.#space();
    const first = this.#text[this.at];
    if (first === '[') return this.#array(depth);
    if (first === '{') return this.#object(depth);
    if (first !== undefined && QUOTES.has(first)) return this.quoted();
    return this.#bare();
  }

  end(): void {
    this.#space();
    if (this.at < this.#text.length) throw new ExactJsonError(`has more text after its end, ${this.#near()}`);
  }

  quoted(): string {
    const closing = QUOTES.get(this.#text[this.at] ?? '') ?? '"';
    let read = '';
    for (let at = this.at + 1; at < this.#text.length; at += 1) {
      const char = this.#text[at] as string;
      if (closing.includes(char)) {
        this.at = at + 1;
        return read;
      }
      if (char !== '\\') {
        read += char;
        continue;
      }
      at += 1;
      const escaped = this.#text[at] ?? '';
      const code = escaped === 'u' ? /^[0-9a-f]{4}/i.exec(this.#text.slice(at + 1, at + 5))?.[0] : undefined;
      read += code ? String.fromCharCode(Number.parseInt(code, 16)) : (ESCAPES[escaped] ?? escaped);
      if (code) at += 4;
    }
    throw new ExactJsonError('has an opening quote without a closing one');
  }

  #array(depth: number): ExactJson[] {
    const items: ExactJson[] = [];
    this.at += 1;
    while (!this.#takes(']')) {
      items.push(this.value(depth + 1));
      if (this.#takes(',')) continue;
      this.#expect(']');
      break;
    }
    return items;
  }

  #object(depth: number): { [key: string]: ExactJson } {
    const entries: Array<[string, ExactJson]> = [];
    this.at += 1;
    while (!this.#takes('}')) {
      const first = this.#text[this.at] ?? '';
      const key = QUOTES.has(first) ? this.quoted() : this.#word(/[^\s:,[\]{}]+/y);
      this.#expect(':');
      entries.push([key, this.value(depth + 1)]);
      if (this.#takes(',')) continue;
      this.#expect('}');
      break;
    }
    // fromEntries defines a key such as __proto__ and does not set the prototype.
    return Object.fromEntries(entries);
  }

  #bare(): ExactJson {
    const word = this.#word(/[^,[\]{}]+/y).trim();
    if (word === 'true' || word === 'false') return word === 'true';
    if (word === 'null') return null;
    if (/^[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|0x[0-9a-f]+)$/i.test(word)) return new NumberText(word);
    return word;
  }

  #word(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const word = pattern.exec(this.#text)?.[0] ?? '';
    if (word.trim() === '') throw new ExactJsonError(`has no value where one is expected, ${this.#near()}`);
    this.at += word.length;
    return word;
  }

  #takes(char: string): boolean {
    this.#space();
    if (this.#text[this.at] !== char) return false;
    this.at += 1;
    return true;
  }

  #expect(char: string): void {
    if (this.#takes(char)) return;
    throw new ExactJsonError(`needs a '${char}' ${this.#near()}`);
  }

  #space(): void {
    const space = /\s*/y;
    space.lastIndex = this.at;
    space.exec(this.#text);
    this.at = space.lastIndex;
  }

  #near(): string {
    const rest = this.#text.slice(this.at, this.at + 12);
    return rest === '' ? 'at the end' : `at '${rest}'`;
  }
}
